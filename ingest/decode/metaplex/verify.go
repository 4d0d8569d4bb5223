package metaplex

import (
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/borsh"
)

// verification is an instruction that sets or clears the verified flag of a creator or of the
// collection that metadata names.
type verification struct {
	instruction string
	// metadataAt, creatorAt and collectionAt are places among the accounts. Either creatorAt or
	// collectionAt is absent.
	metadataAt, creatorAt, collectionAt int
	verified                            bool
}

// absent stands for an account that the instruction does not have.
const absent = -1

// verifications are the verifications that have an instruction number of their own. The places of
// the accounts are from instruction/metadata.rs and collection.rs of the program.
var verifications = map[uint8]verification{
	7:  {"SignMetadata", 0, 1, absent, true},
	18: {"VerifyCollection", 0, absent, 3, true},
	22: {"UnverifyCollection", 0, absent, 2, false},
	25: {"SetAndVerifyCollection", 0, absent, 4, true},
	28: {"RemoveCreatorVerification", 0, 1, absent, false},
	30: {"VerifySizedCollectionItem", 0, absent, 3, true},
	31: {"UnverifySizedCollectionItem", 0, absent, 3, false},
	32: {"SetAndVerifySizedCollectionItem", 0, absent, 4, true},
}

// Values of VerificationArgs.
const (
	verifyCreatorV1 = iota
	verifyCollectionV1
)

// decodeVerify decodes Verify and Unverify. Accounts are authority, delegate record, metadata,
// collection mint. If a creator is verified, the authority is that creator.
func decodeVerify(v instruction.View, c *borsh.Reader, name string, verified bool) (instruction.Outcome, error) {
	what := c.U8()
	switch {
	case c.Err() != nil:
		return instruction.Outcome{}, c.Err()
	case what == verifyCreatorV1:
		return decodeVerification(v, verification{name, 2, 0, absent, verified})
	case what == verifyCollectionV1:
		return decodeVerification(v, verification{name, 2, absent, 3, verified})
	default:
		return instruction.Outcome{}, borsh.ErrValue
	}
}

// decodeVerification makes the event of a verification. The event lists a creator with its flag,
// but sets_creators stays false, because the list of creators does not change. The event states a
// collection together with its flag: the metadata names that collection, either already or because
// of this instruction.
func decodeVerification(v instruction.View, what verification) (instruction.Outcome, error) {
	metadata, err := v.Account(what.metadataAt)
	if err != nil {
		return instruction.Outcome{}, err
	}
	set := newSet(metadata)
	if what.creatorAt != absent {
		creator, err := v.Account(what.creatorAt)
		if err != nil {
			return instruction.Outcome{}, err
		}
		set.Creators = []*eventspb.Creator{{Address: creator.Bytes(), Verified: what.verified}}
	}
	if what.collectionAt != absent {
		collection, err := v.Account(what.collectionAt)
		if err != nil {
			return instruction.Outcome{}, err
		}
		set.Collection, set.CollectionVerified = collection.Bytes(), &what.verified
	}
	return factOfAccount(v, metadata, what.instruction, set)
}
