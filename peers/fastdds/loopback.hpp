// A participant that uses UDP on the loopback interface alone.
#pragma once

#include <cstdint>
#include <memory>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/utils/IPLocator.h>

// Returns null if the domain cannot be joined.
inline eprosima::fastdds::dds::DomainParticipant *join(std::uint32_t domain) {
  using namespace eprosima::fastdds::dds;
  DomainParticipantQos qos = PARTICIPANT_QOS_DEFAULT;
  auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
  udp->interfaceWhiteList.push_back("127.0.0.1");
  qos.transport().use_builtin_transports = false;
  qos.transport().user_transports.push_back(udp);
  eprosima::fastrtps::rtps::Locator_t peer;
  peer.kind = LOCATOR_KIND_UDPv4;
  eprosima::fastrtps::rtps::IPLocator::setIPv4(peer, 127, 0, 0, 1);
  qos.wire_protocol().builtin.initialPeersList.push_back(peer);
  return DomainParticipantFactory::get_instance()->create_participant(domain, qos);
}
