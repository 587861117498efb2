// Decodes packets with the OPRA codec of FeedHandlers, for main.rs. The codec calls a function of its feed handler for each
// message. Here these functions pass the values to main.rs, or do nothing with them while the time is measured.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fast_process.h"
#include "fh_errors.h"
#include "fh_log.h"
#include "fh_opra_msg.h"

// An entry of the group of an underlying value. Strings that the message type does not have are blank.
struct entry {
  unsigned char symbol[3], value[8], bid[8], offer[8], placement[2];
  uint32_t spot;
};

// The values of a message. `slots` is the mask of the slots with a value in `numbers`.
struct seen {
  uint64_t slots;
  uint32_t numbers[64];
  unsigned char symbol[5], date[2], year[2];
  const unsigned char *text;
  uint32_t entry_count;
  struct entry entries[5];
};

typedef void (*see_message)(void *to, const struct seen *message);

static see_message see;
static void *see_to;

static void put(struct seen *to, unsigned slot, uint32_t value) {
  to->slots |= 1ull << slot;
  to->numbers[slot] = value;
}

static void put_header(struct seen *to, const OpraMsgHdr_v2 *header) {
  memset(to, 0, sizeof *to);
  put(to, 0, header->category);
  put(to, 1, header->type);
  put(to, 2, header->participantId);
  put(to, 3, header->retran);
  put(to, 4, header->seqNumber);
  put(to, 5, header->time);
}

// Four structs have these members of an option's contract.
#define PUT_OPTION(to, message)                                 \
  do {                                                          \
    memcpy((to)->symbol, (message)->symbol, sizeof (to)->symbol); \
    put(to, 7, (message)->expirationMonth);                     \
    memcpy((to)->date, (message)->expirationDate, 2);           \
    memcpy((to)->year, (message)->year, 2);                     \
    put(to, 10, (message)->strikePriceDenomCode);               \
    put(to, 11, (message)->explicitStrike);                     \
    put(to, 12, (message)->strikePriceCode);                    \
  } while (0)

static void put_appendage(struct seen *to, unsigned slot, const Appendage_v2 *appendage) {
  put(to, slot, appendage->partId);
  put(to, slot + 1, appendage->denominator);
  put(to, slot + 2, appendage->price);
  put(to, slot + 3, appendage->size);
}

enum { BEST_BID = 31, BEST_OFFER = 35 };

// Keeps the compiler from removing the struct. True if main.rs compares values.
static int wanted(const void *message) {
  __asm__ volatile("" : : "r"(message) : "memory");
  return see != NULL;
}

FH_STATUS fh_opra_msg_quote_process(CatkMsg_v2 *message) {
  if (!wanted(message)) return FH_OK;
  struct seen to;
  put_header(&to, &message->hdr);
  PUT_OPTION(&to, message);
  put(&to, 15, message->premiumPriceDenomCode);
  put(&to, 25, message->bidQuote);
  put(&to, 26, message->bidSize);
  put(&to, 27, message->askQuote);
  put(&to, 28, message->askSize);
  put(&to, 29, message->sessionIndicator);
  put(&to, 30, message->bboIndicator);
  switch (message->bboIndicator) {
  case 'C': case 'G': case 'K':
    put_appendage(&to, BEST_OFFER, &message->bbo.bestOffer);
    break;
  case 'M': case 'N': case 'P':
    put_appendage(&to, BEST_BID, &message->bbo.bestBid);
    break;
  case 'O':
    put_appendage(&to, BEST_BID, &message->bbo.bestBidOffer.bestBid);
    put_appendage(&to, BEST_OFFER, &message->bbo.bestBidOffer.bestOffer);
    break;
  }
  see(see_to, &to);
  return FH_OK;
}

FH_STATUS fh_opra_msg_oi_process(CatdMsg_v2 *message) {
  if (!wanted(message)) return FH_OK;
  struct seen to;
  put_header(&to, &message->hdr);
  PUT_OPTION(&to, message);
  put(&to, 14, message->openIntVolume);
  see(see_to, &to);
  return FH_OK;
}

FH_STATUS fh_opra_msg_ls_process(CataMsg_v2 *message) {
  if (!wanted(message)) return FH_OK;
  struct seen to;
  put_header(&to, &message->hdr);
  PUT_OPTION(&to, message);
  put(&to, 13, message->volume);
  put(&to, 15, message->premiumPriceDenomCode);
  put(&to, 16, message->premium);
  put(&to, 29, message->sessionIndicator);
  see(see_to, &to);
  return FH_OK;
}

FH_STATUS fh_opra_msg_eod_process(CatfMsg_v2 *message) {
  if (!wanted(message)) return FH_OK;
  struct seen to;
  put_header(&to, &message->hdr);
  PUT_OPTION(&to, message);
  put(&to, 13, message->volume);
  put(&to, 14, message->openIntVolume);
  put(&to, 15, message->premiumPriceDenomCode);
  put(&to, 17, message->open);
  put(&to, 18, message->high);
  put(&to, 19, message->low);
  put(&to, 20, message->last);
  put(&to, 21, message->netChangeIndicator);
  put(&to, 22, message->netChange);
  put(&to, 23, message->underlyingPriceDenomCode);
  put(&to, 24, message->underlyingStockPrice);
  put(&to, 25, message->bidQuote);
  put(&to, 27, message->askQuote);
  see(see_to, &to);
  return FH_OK;
}

FH_STATUS fh_opra_msg_uv_process(CatYMsg_v2 *message) {
  if (!wanted(message)) return FH_OK;
  struct seen to;
  put_header(&to, &message->hdr);
  const unsigned char type = message->hdr.type;
  const int spot = type == 'F' || type == 'C';
  to.entry_count = message->body.numOfIndices;
  put(&to, spot ? 40 : 39, to.entry_count);
  for (unsigned i = 0; i < to.entry_count && i < 5; ++i) {
    struct entry *entry = &to.entries[i];
    memset(entry->value, ' ', offsetof(struct entry, placement) - offsetof(struct entry, value));
    memcpy(entry->symbol, message->body.indexGroup[i].symbol, 3);
    if (spot) {
      memcpy(entry->placement, message->body.indexGroup[i].group.fcSpotVal.decimalPlacementIndicator, 2);
      entry->spot = message->body.indexGroup[i].group.fcSpotVal.foreignCurSpotValue;
    } else if (type == 'I') {
      memcpy(entry->bid, message->body.indexGroup[i].group.bidOffer.bidValueIndex, 8);
      memcpy(entry->offer, message->body.indexGroup[i].group.bidOffer.offerValueIndex, 8);
    } else {
      memcpy(entry->value, message->body.indexGroup[i].group.indexValue, 8);
    }
  }
  see(see_to, &to);
  return FH_OK;
}

FH_STATUS fh_opra_msg_ctrl_process(CatHMsg_v2 *message) {
  if (!wanted(message)) return FH_OK;
  struct seen to;
  put_header(&to, &message->hdr);
  to.text = message->text;
  see(see_to, &to);
  return FH_OK;
}

// The codec logs default messages, which the feed handler does not support, and errors.
uint32_t fh_log_lvl[FH_LC_MAX];
char *fh_log_fmt(const char *format, ...) { return (char *)format; }
void fh_log(const char *file, int line, const char *class, const char *level, char *text) {
  (void)file, (void)line, (void)class, (void)level, (void)text;
}

static Fast fast;

void feedhandlers_start(void) { fast_opra_init(&fast); }

// Returns the number of messages of the packet, default messages included.
int feedhandlers_decode(const unsigned char *packet, uint32_t len) {
  see = NULL;
  return fast_opra_decode(&fast, (uint8_t *)packet, len);
}

int feedhandlers_show(const unsigned char *packet, uint32_t len, see_message show, void *to) {
  see = show;
  see_to = to;
  return fast_opra_decode(&fast, (uint8_t *)packet, len);
}
