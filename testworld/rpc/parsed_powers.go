package rpc

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/mintlake/mintlake/testworld/layout"
)

// powerShape is how jsonParsed shows an extension: its name, the size of its value, and its state
// (agave account-decoder-client-types, token.rs). state is nil if the extension has none.
type powerShape struct {
	name  string
	size  int
	state func(d []byte) map[string]any
}

// pairOf shows two addresses.
func pairOf(first, second string) func(d []byte) map[string]any {
	return func(d []byte) map[string]any { return map[string]any{first: text32(d), second: text32(d[32:])} }
}

// powerShapes are the extensions that give somebody power over holders, and those of token accounts
// that follow from them.
var powerShapes = map[uint16]powerShape{
	layout.ExtPermanentDelegate: {"permanentDelegate", 32, func(d []byte) map[string]any { return map[string]any{"delegate": text32(d)} }},
	layout.ExtDefaultState: {"defaultAccountState", 1, func(d []byte) map[string]any {
		state := map[byte]string{layout.StateInitialized: "initialized", layout.StateFrozen: "frozen"}[d[0]]
		return map[string]any{"accountState": state}
	}},
	layout.ExtPausable:     {"pausableConfig", 33, func(d []byte) map[string]any { return map[string]any{"authority": text32(d), "paused": d[32] != 0} }},
	layout.ExtTransferHook: {"transferHook", 64, pairOf("authority", "programId")},
	layout.ExtConfidential: {"confidentialTransferMint", 65, func(d []byte) map[string]any {
		return map[string]any{"authority": text32(d), "autoApproveNewAccounts": d[32] != 0, "auditorElgamalPubkey": nil}
	}},
	layout.ExtInterest: {"interestBearingConfig", 52, func(d []byte) map[string]any {
		number := func(at int) int64 { return int64(binary.LittleEndian.Uint64(d[at:])) }
		rate := func(at int) int16 { return int16(binary.LittleEndian.Uint16(d[at:])) }
		return map[string]any{"rateAuthority": text32(d), "initializationTimestamp": number(32), "preUpdateAverageRate": rate(40),
			"lastUpdateTimestamp": number(42), "currentRate": rate(50)}
	}},
	layout.ExtScaledAmount: {"scaledUiAmountConfig", layout.ScaledSize, func(d []byte) map[string]any {
		multiplier := func(at int) string {
			return strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(d[at:])), 'f', -1, 64)
		}
		return map[string]any{"authority": text32(d), "multiplier": multiplier(layout.ScaledNowAt), "newMultiplier": multiplier(layout.ScaledNextAt),
			"newMultiplierEffectiveTimestamp": int64(binary.LittleEndian.Uint64(d[layout.ScaledFromAt:]))}
	}},
	layout.ExtPermissionedBurn:       {"permissionedBurnConfig", 32, func(d []byte) map[string]any { return map[string]any{"authority": text32(d)} }},
	layout.ExtGroupPointer:           {"groupPointer", 64, pairOf("authority", "groupAddress")},
	layout.ExtMemberPointer:          {"groupMemberPointer", 64, pairOf("authority", "memberAddress")},
	layout.ExtNonTransferable:        {name: "nonTransferable"},
	layout.ExtNonTransferableAccount: {name: "nonTransferableAccount"},
	layout.ExtPausableAccount:        {name: "pausableAccount"},
	layout.ExtTransferHookAccount:    {"transferHookAccount", 1, func(d []byte) map[string]any { return map[string]any{"transferring": d[0] != 0} }},
}

// parsePower reads an extension of powerShapes; false if it is none.
func parsePower(kind uint16, d []byte) (extension, bool) {
	shape, known := powerShapes[kind]
	if !known || len(d) != shape.size {
		return extension{}, false
	}
	if shape.state == nil {
		return extension{Name: shape.name}, true
	}
	return extension{shape.name, shape.state(d)}, true
}
