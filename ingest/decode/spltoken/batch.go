package spltoken

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/solana/borsh"
)

// batch is the number of p-token's Batch (SIMD-0266): several token instructions in one, which run
// without inner instructions.
const batch = 255

// batchHeader is the length of a part's header: a byte with the number of its accounts, and a byte
// with the length of its data.
const batchHeader = 2

// IsBatch reports whether data is a Batch instruction.
func IsBatch(data []byte) bool { return len(data) > 0 && data[0] == batch }

// SplitBatch splits a Batch into its parts. The layout is that of
// pinocchio/program/src/processor/batch.rs. The parts share the call's data and accounts.
//
// SplitBatch returns an error at a malformed part or at a Batch inside the Batch, together with the
// parts before it. The program refuses both, so the data is not from the chain, but what can be
// read is kept. The program also refuses a part without data. SplitBatch returns such a part and
// goes on, because that is how a source passes on a part whose data it could not restore.
func SplitBatch(call *chain.Call) ([]chain.Call, error) {
	rest, accounts := call.Data[1:], call.Accounts
	var parts []chain.Call
	for {
		if len(rest) < batchHeader {
			return parts, borsh.ErrTruncated
		}
		count, end := int(rest[0]), batchHeader+int(rest[1])
		if end > len(rest) {
			return parts, borsh.ErrTruncated
		}
		if count > len(accounts) {
			return parts, instruction.ErrAccounts
		}
		data := rest[batchHeader:end]
		if IsBatch(data) {
			return parts, borsh.ErrValue
		}
		parts = append(parts, chain.Call{
			ProgramIndex: call.ProgramIndex,
			Accounts:     accounts[:count],
			Data:         data,
			StackHeight:  call.StackHeight,
		})
		rest, accounts = rest[end:], accounts[count:]
		if len(rest) == 0 {
			return parts, nil
		}
	}
}
