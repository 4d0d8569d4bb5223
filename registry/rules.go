package registry

// FactRules is the number of the rules that make facts of records. A change that makes other facts
// of the same records, such as a new register, must raise it: the next start then makes the
// projector's tables of facts, and the replica's checkpoint, anew from the log. The test that opens
// data folders of released versions fails without it.
//
//	1: launchpad, creator and graduation
const FactRules = 1
