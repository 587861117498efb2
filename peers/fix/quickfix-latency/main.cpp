// Measures QuickFIX from an order to its execution report. An acceptor and an initiator run in this process, each in a
// thread on one of the CPUs given as arguments, over loopback, with stores in memory and without a dictionary. The answer
// to a line `run COUNT` on standard input is a line with this many times in nanoseconds.

#include <quickfix/Application.h>
#include <quickfix/MessageStore.h>
#include <quickfix/Session.h>
#include <quickfix/SessionSettings.h>
#include <quickfix/SocketAcceptor.h>
#include <quickfix/SocketInitiator.h>
#include <quickfix/fix44/ExecutionReport.h>
#include <quickfix/fix44/NewOrderSingle.h>

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

long now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

// Callbacks that neither side needs. QuickFIX calls them on its own threads.
class Quiet : public FIX::Application {
public:
  void onCreate(const FIX::SessionID &) override {}
  void onLogon(const FIX::SessionID &) override {}
  void onLogout(const FIX::SessionID &) override {}
  void toAdmin(FIX::Message &, const FIX::SessionID &) override {}
  void toApp(FIX::Message &, const FIX::SessionID &) throw(FIX::DoNotSend) override {}
  void fromAdmin(const FIX::Message &, const FIX::SessionID &)
      throw(FIX::FieldNotFound, FIX::IncorrectDataFormat, FIX::IncorrectTagValue, FIX::RejectLogon) override {}
};

class Venue : public Quiet {
public:
  explicit Venue(int cpu) : cpu(cpu) {}
  void onLogon(const FIX::SessionID &) override { pin(cpu); }
  void fromApp(const FIX::Message &order, const FIX::SessionID &session)
      throw(FIX::FieldNotFound, FIX::IncorrectDataFormat, FIX::IncorrectTagValue, FIX::UnsupportedMessageType) override {
    FIX::ClOrdID id;
    FIX::Symbol symbol;
    FIX::Side side;
    FIX::OrderQty quantity;
    order.getField(id);
    order.getField(symbol);
    order.getField(side);
    order.getField(quantity);
    FIX44::ExecutionReport report(FIX::OrderID(id.getValue()), FIX::ExecID(std::to_string(++reports)),
        FIX::ExecType(FIX::ExecType_NEW), FIX::OrdStatus(FIX::OrdStatus_NEW), side,
        FIX::LeavesQty(quantity), FIX::CumQty(0), FIX::AvgPx(0));
    report.set(id);
    report.set(symbol);
    FIX::Session::sendToTarget(report, session);
  }

private:
  int cpu;
  long reports = 0;
};

class Trader : public Quiet {
public:
  explicit Trader(int cpu) : cpu(cpu) {}
  void onLogon(const FIX::SessionID &id) override {
    pin(cpu);
    std::lock_guard<std::mutex> lock(mutex);
    session = id;
    logged_on = true;
    changed.notify_all();
  }
  void fromApp(const FIX::Message &report, const FIX::SessionID &)
      throw(FIX::FieldNotFound, FIX::IncorrectDataFormat, FIX::IncorrectTagValue, FIX::UnsupportedMessageType) override {
    FIX::OrdStatus status;
    report.getField(status);
    if (status != FIX::OrdStatus_NEW) std::abort();
    times.push_back(now() - sent);
    if (times.size() < count) return send();
    std::lock_guard<std::mutex> lock(mutex);
    done = true;
    changed.notify_all();
  }
  std::vector<long> round(std::size_t wanted) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return logged_on; });
      count = wanted;
      done = false;
      times.clear();
    }
    send();
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return done; });
    return times;
  }

private:
  // The main thread sends the first order of a round; the thread that receives a report sends the next one.
  void send() {
    char id[32];
    std::snprintf(id, sizeof id, "order-%08ld", ++orders);
    sent = now();
    FIX44::NewOrderSingle order(FIX::ClOrdID(id), FIX::Side(FIX::Side_BUY), FIX::TransactTime(3),
        FIX::OrdType(FIX::OrdType_LIMIT));
    order.set(FIX::Symbol("XYZ"));
    order.set(FIX::OrderQty(100));
    order.set(FIX::Price(98.125));
    FIX::Session::sendToTarget(order, session);
  }

  int cpu;
  std::mutex mutex;
  std::condition_variable changed;
  bool logged_on = false;
  bool done = false;
  FIX::SessionID session;
  std::size_t count = 0;
  std::vector<long> times;
  long sent = 0;
  long orders = 0;
};

std::string settings(const char *kind, const char *sender, const char *target, int port) {
  std::ostringstream out;
  out << "[DEFAULT]\nConnectionType=" << kind << "\nHeartBtInt=3600\nReconnectInterval=1\nUseDataDictionary=N\n"
      << "StartTime=00:00:00\nEndTime=00:00:00\nSocketNodelay=Y\nSocketReuseAddress=Y\n"
      << "SocketAcceptPort=" << port << "\nSocketConnectHost=127.0.0.1\nSocketConnectPort=" << port << "\n"
      << "[SESSION]\nBeginString=FIX.4.4\nSenderCompID=" << sender << "\nTargetCompID=" << target << "\n";
  return out.str();
}

} // namespace

int main(int count, char **arguments) {
  if (count != 3) {
    std::fputs("expected: CPU CPU\n", stderr);
    return 2;
  }
  try {
    const int port = 20000 + getpid() % 20000;
    std::istringstream accepting(settings("acceptor", "VENUE", "TRADER", port));
    std::istringstream calling(settings("initiator", "TRADER", "VENUE", port));
    FIX::SessionSettings acceptor_settings(accepting), initiator_settings(calling);
    FIX::MemoryStoreFactory stores;
    Trader trader(std::atoi(arguments[1]));
    Venue venue(std::atoi(arguments[2]));
    FIX::SocketAcceptor acceptor(venue, stores, acceptor_settings);
    acceptor.start();
    FIX::SocketInitiator initiator(trader, stores, initiator_settings);
    initiator.start();
    std::string word;
    std::size_t wanted;
    while (std::cin >> word >> wanted) {
      for (const long took : trader.round(wanted)) std::printf("%ld ", took);
      std::printf("\n");
      std::fflush(stdout);
    }
    initiator.stop(true);
    acceptor.stop(true);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
