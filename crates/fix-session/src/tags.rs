//! Tags that the session itself reads and writes.

use tickwire_fix::Tag;

pub(crate) const BEGIN_SEQ_NO: Tag = Tag(7);
pub(crate) const END_SEQ_NO: Tag = Tag(16);
pub(crate) const NEW_SEQ_NO: Tag = Tag(36);
pub(crate) const POSS_DUP_FLAG: Tag = Tag(43);
pub(crate) const REF_SEQ_NUM: Tag = Tag(45);
pub(crate) const SENDER_SUB_ID: Tag = Tag(50);
pub(crate) const TARGET_SUB_ID: Tag = Tag(57);
pub(crate) const TEXT: Tag = Tag(58);
pub(crate) const POSS_RESEND: Tag = Tag(97);
pub(crate) const ENCRYPT_METHOD: Tag = Tag(98);
pub(crate) const HEART_BT_INT: Tag = Tag(108);
pub(crate) const TEST_REQ_ID: Tag = Tag(112);
pub(crate) const ON_BEHALF_OF_COMP_ID: Tag = Tag(115);
pub(crate) const ON_BEHALF_OF_SUB_ID: Tag = Tag(116);
pub(crate) const ORIG_SENDING_TIME: Tag = Tag(122);
pub(crate) const GAP_FILL_FLAG: Tag = Tag(123);
pub(crate) const DELIVER_TO_COMP_ID: Tag = Tag(128);
pub(crate) const DELIVER_TO_SUB_ID: Tag = Tag(129);
pub(crate) const RESET_SEQ_NUM_FLAG: Tag = Tag(141);
pub(crate) const ON_BEHALF_OF_LOCATION_ID: Tag = Tag(144);
pub(crate) const SENDER_LOCATION_ID: Tag = Tag(142);
pub(crate) const TARGET_LOCATION_ID: Tag = Tag(143);
pub(crate) const DELIVER_TO_LOCATION_ID: Tag = Tag(145);
pub(crate) const LAST_MSG_SEQ_NUM_PROCESSED: Tag = Tag(369);
pub(crate) const REF_TAG_ID: Tag = Tag(371);
pub(crate) const REF_MSG_TYPE: Tag = Tag(372);
pub(crate) const SESSION_REJECT_REASON: Tag = Tag(373);
pub(crate) const BUSINESS_REJECT_REF_ID: Tag = Tag(379);
pub(crate) const BUSINESS_REJECT_REASON: Tag = Tag(380);
pub(crate) const USERNAME: Tag = Tag(553);
pub(crate) const PASSWORD: Tag = Tag(554);
pub(crate) const NEXT_EXPECTED_MSG_SEQ_NUM: Tag = Tag(789);
pub(crate) const APPL_VER_ID: Tag = Tag(1128);
pub(crate) const DEFAULT_APPL_VER_ID: Tag = Tag(1137);
