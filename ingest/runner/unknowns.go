package runner

import (
	"fmt"

	"github.com/mr-tron/base58"

	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/decode/instruction"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// sourceName is the source of what ingest notes as unknown.
const sourceName = "ingest"

// noteRaw notes an unknown if the event is a raw event: an instruction that no decoder could read.
// It ignores all other events.
func (r *Runner) noteRaw(event *eventspb.TokenEvent) {
	raw := event.GetRaw()
	if raw == nil || r.deps.Unknowns == nil {
		return
	}
	r.deps.Unknowns.Note(unknowns.Instruction, instructionName(event.GetProgramId(), raw), unknowns.Sighting{
		Source: sourceName, Slot: event.GetPosition().GetSlot(), Place: base58.Encode(event.GetSignature()), Sample: raw.GetData(),
	})
}

// instructionName returns the name of an unread instruction in unknowns: the label of its program,
// its number and, if it has one, its second number. If the number is known, the reason why the
// instruction was not read follows. Examples: "token_2022 26.9", "metaplex 33: data is too short".
func instructionName(program []byte, raw *eventspb.RawInstruction) string {
	var label string
	var first, last byte // instructions of the numbers from first to last have a second number
	switch string(program) {
	case string(tokenaccount.ProgramToken[:]):
		label, first, last = decode.ProgramToken, 1, 0
	case string(tokenaccount.ProgramToken2022[:]):
		label, first, last = decode.ProgramToken2022, 26, 46
	default:
		label, first, last = decode.ProgramMetaplex, 41, 55
	}
	name, data := label, raw.GetData()
	if len(data) > 0 {
		name += fmt.Sprintf(" %d", data[0])
		if len(data) > 1 && data[0] >= first && data[0] <= last {
			name += fmt.Sprintf(".%d", data[1])
		}
	}
	if reason := raw.GetReason(); reason != instruction.ErrUnknown.Error() {
		name += ": " + reason
	}
	return name
}

// noteExtensions notes an unknown for each extension of a mint account that this version does not
// know.
func (r *Runner) noteExtensions(fact *eventspb.Enrichment) {
	if mint := fact.GetMintAccount(); mint != nil {
		r.deps.Unknowns.Extensions(mint, unknowns.Sighting{Source: sourceName, Slot: fact.GetSlot(), Place: pubkey.Key(fact.GetMint()).String()})
	}
}
