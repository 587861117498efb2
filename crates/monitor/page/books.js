// The view of books: search, best prices, and any number of ladders side by side.

import { stream } from "./api.js";
import { depth } from "./charts.js";
import { className, h, keyed, table, text, timeCell } from "./dom.js";
import * as format from "./format.js";

const PAGE = 60;
const LADDERS_MAX = 16;
const TRADES_SHOWN = 8;
/** The side that made a trade happen. */
const AGGRESSORS = { bid: "buyer", offer: "seller" };

function ladder(close) {
  return (book) => {
    const name = h("h2");
    const badge = h("span", { class: "tag" });
    const why = h("p", { class: "quiet" });
    const spread = h("td", { colspan: "3" });
    const [offers, bids] = [h("tbody"), h("tbody")];
    const middle = h("tbody", {}, h("tr", { class: "spread" }, spread));
    const chart = h("canvas", { class: "depth", role: "img" });
    const trades = table(["Trade (UTC)", "#Price", "#Size", "By"]);
    const more = h("button", { class: "link", type: "button", click: () => {
      isLong = !isLong;
      element.update(last);
    } });
    let [isLong, last] = [false, book];
    const element = h(
      "section",
      { class: "panel book", "data-book": book.instrument },
      h("div", { class: "head" }, name, badge,
        h("button", { class: "link push", type: "button", click: () => close(book.instrument), "aria-label": `Close ${book.name}` }, "close")),
      why,
      h("table", { class: "ladder" },
        h("thead", { class: "hidden" }, h("tr", {}, h("th", { scope: "col" }, "Bid size"), h("th", { scope: "col" }, "Price"), h("th", { scope: "col" }, "Offer size"))),
        offers, middle, bids),
      chart,
      trades,
      more,
    );
    element.update = (book) => {
      last = book;
      const isFresh = book.status === "fresh";
      // The name may become known later.
      text(name, book.name);
      text(badge, isFresh ? "fresh" : `stale: ${format.words(book.status)}`);
      className(badge, isFresh ? "tag good" : "tag bad");
      className(element, isFresh ? "panel book" : "panel book stale warn");
      const reasons = [book.stale_since_ms && `stale since ${format.clock(book.stale_since_ms)} UTC`, book.stale_text].filter(Boolean);
      text(why, reasons.join(": "));
      why.title = book.stale_since_ms ? format.date(book.stale_since_ms) : "";
      why.hidden = !reasons.length;
      text(spread, book.spread == null ? "no spread" : `spread ${book.spread}`);
      const largest = Math.max(1e-12, ...[...book.bids, ...book.offers].map((level) => Number(level.size)));
      const side = (parent, levels, name) => {
        const shown = name === "offer" ? levels.slice().reverse() : levels;
        keyed(parent, shown.map((level, at) => ({ level, at: name === "offer" ? levels.length - at : at + 1 })), ({ at }) => at, () => row(name));
        shown.forEach((level, at) => parent.children[at].fill(level, largest));
      };
      side(offers, book.offers, "offer");
      side(bids, book.bids, "bid");
      depth(chart, book.bids, book.offers);
      chart.setAttribute("aria-label", `Depth of ${book.name}: ${format.counted(book.bids.length, "bid")}, ${format.counted(book.offers.length, "offer")}`);
      trades.hidden = book.trades.length === 0;
      more.hidden = book.trades.length <= TRADES_SHOWN;
      text(more, isLong ? "fewer trades" : format.counted(book.trades.length - TRADES_SHOWN, "more trade"));
      keyed(trades.body, isLong ? book.trades : book.trades.slice(0, TRADES_SHOWN), (trade) => trade.id, (trade) =>
        h("tr", {}, timeCell(trade.at_ms),
          h("td", { class: "num mono" }, trade.price ?? "–"), h("td", { class: "num mono" }, trade.size ?? "–"),
          h("td", { class: trade.aggressor && `by-${trade.aggressor}` }, AGGRESSORS[trade.aggressor] ?? "–")));
    };
    return element;
  };
}

function row(name) {
  const [size, price, fill] = [h("span"), h("span"), h("span", { class: "fill" })];
  const cell = h("td", { class: name === "bid" ? "bar-cell num" : "bar-cell" }, fill, size);
  const cells = [cell, h("td", { class: "price" }, price), h("td", { class: "bar-cell" })];
  const element = h("tr", { class: name }, name === "bid" ? cells : cells.slice().reverse());
  element.fill = (level, largest) => {
    text(price, level.price);
    text(size, level.orders == null ? level.size : `${level.size} (${level.orders})`);
    fill.style.width = `${Math.round((Number(level.size) / largest) * 100)}%`;
  };
  return element;
}

/** The view of books in `root`. */
export function booksView(root, app, [wantedChannel] = []) {
  const names = app.channels.map((channel) => channel.name);
  const wanted = names.includes(wantedChannel) ? wantedChannel : names[0];
  const shown = { channel: wanted, search: "", stale: false, offset: 0, watch: [] };
  const again = () => source.again();
  const search = h("input", { type: "search", id: "search", placeholder: "Search instruments ( / )", "aria-label": "Search instruments",
    input: () => { shown.search = search.value; shown.offset = 0; again(); } });
  const channels = h("select", { "aria-label": "Channel", change: () => { Object.assign(shown, { channel: channels.value, offset: 0, watch: [], hasChosen: false }); again(); } },
    names.map((name) => h("option", { selected: name === wanted }, name)));
  const onlyStale = h("input", { type: "checkbox", id: "only-stale", change: () => { shown.stale = onlyStale.checked; shown.offset = 0; again(); } });
  const summary = h("p", { class: "quiet", role: "status" });
  const list = table(["Instrument", "#Bid", "#Offer", "State"], { class: "instruments" });
  const [back, forth] = [[-PAGE, "Previous"], [PAGE, "Next"]].map(([by, label]) =>
    h("button", { class: "action", type: "button", click: () => { shown.offset = Math.max(0, shown.offset + by); again(); } }, label));
  const ladders = h("div", { class: "ladders" });
  const empty = h("p", { class: "card empty" }, "Choose instruments to see their ladders; any number of them, up to 16.");
  root.replaceChildren(
    h("div", { class: "books" },
      h("section", { class: "card" },
        h("div", { class: "tools" }, names.length > 1 && channels, search,
          h("label", { for: "only-stale" }, onlyStale, " stale only")),
        summary,
        h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Instruments" }, list),
        h("div", { class: "tools" }, back, forth),
        h("p", { class: "quiet" }, "Trades are kept only while somebody looks at books.")),
      h("div", {}, empty, ladders)),
  );
  list.parentElement.style.maxHeight = "62vh";
  const toggle = (instrument) => {
    const at = shown.watch.indexOf(instrument);
    if (at >= 0) shown.watch.splice(at, 1);
    else if (shown.watch.length < LADDERS_MAX) shown.watch.push(instrument);
    again();
  };
  const path = () => {
    const query = new URLSearchParams({ of: "books", search: shown.search, stale: shown.stale, offset: shown.offset, limit: PAGE, watch: shown.watch.join(",") });
    if (shown.channel) query.set("channel", shown.channel);
    return `/api/v1/stream?${query}`;
  };
  const take = (books) => {
    const last = Math.min(books.matching, shown.offset + books.books.length);
    text(summary, books.matching === 0
      ? `No instrument matches; ${format.count(books.instruments)} are known.`
      : `${format.count(shown.offset + 1)} to ${format.count(last)} of ${format.counted(books.matching, "instrument")}`);
    back.disabled = shown.offset === 0;
    forth.disabled = last >= books.matching;
    // Each channel numbers its instruments from 0.
    const key = (book) => `${books.channel} ${book.instrument}`;
    keyed(list.body, books.books, key, instrument);
    if (!shown.watch.length && !shown.hasChosen && books.is_ready && books.books.length) {
      shown.hasChosen = true;
      shown.watch = books.books.slice(0, 3).map((book) => book.instrument);
      again();
    }
    for (const element of list.body.children) {
      element.setAttribute("aria-selected", shown.watch.includes(Number(element.dataset.instrument)));
    }
    keyed(ladders, books.ladders.filter((book) => shown.watch.includes(book.instrument)), key, ladder(toggle));
    empty.hidden = books.ladders.length > 0;
  };
  const instrument = (book) => {
    const name = h("button", { class: "link", type: "button" });
    const [bid, offer, state] = [h("td", { class: "num mono" }), h("td", { class: "num mono" }), h("span", { class: "tag" })];
    const since = h("div", { class: "quiet since" });
    const element = h("tr", { "data-instrument": book.instrument, click: () => toggle(book.instrument) },
      h("td", {}, name), bid, offer, h("td", {}, state, since));
    element.update = (book) => {
      text(name, book.name);
      text(bid, book.bid?.price ?? "–");
      text(offer, book.offer?.price ?? "–");
      text(state, book.status === "fresh" ? "fresh" : format.words(book.status));
      className(state, book.status === "fresh" ? "tag good" : "tag bad");
      text(since, book.stale_since_ms ? `since ${format.clock(book.stale_since_ms).slice(0, 8)} UTC` : "");
      since.title = book.stale_since_ms ? format.date(book.stale_since_ms) : "";
    };
    return element;
  };
  const source = stream(path, take);
  return { update() {}, close: source, search };
}
