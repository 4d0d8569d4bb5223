package status

import (
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Snapshot is the validator's snapshot that filled the registry.
type Snapshot struct {
	Name string `json:"name"`
	Slot uint64 `json:"slot"`
	// BankHash is in base58.
	BankHash string `json:"bank_hash"`
	// Check is consistent, verified or skipped: see ValidatorSnapshot in proto/.
	Check    string `json:"check"`
	Accounts uint64 `json:"accounts"`
	Facts    uint64 `json:"facts"`
	AtMS     int64  `json:"recorded_at_ms"`
}

// snapshots keeps the last record about a snapshot.
type snapshots struct{ last atomic.Pointer[Snapshot] }

func (s *snapshots) add(record *kafka.Record) {
	told := new(eventspb.ValidatorSnapshot)
	if string(record.Key) != schemas.ValidatorSnapshotKey || proto.Unmarshal(record.Value, told) != nil || len(told.GetBankHash()) != 32 {
		return
	}
	s.last.Store(&Snapshot{
		Name: told.GetName(), Slot: told.GetSlot(), BankHash: pubkey.Key(told.GetBankHash()).String(), Check: told.GetCheck(),
		Accounts: told.GetAccounts(), Facts: told.GetFacts(), AtMS: told.GetRecordedAtMs(),
	})
}
