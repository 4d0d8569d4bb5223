package liar

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// lies are the kinds of lies that the result of each method can have.
var lies = map[string][]string{
	"getSlot":             {Slots, Repeats},
	"getBlocks":           {Slots, Repeats},
	"getBlock":            {Parents, Times, Repeats},
	"getMultipleAccounts": {Slots, Owners, Amounts, Others, Repeats, Supplies},
	"getAccountInfo":      {Slots, Owners, Amounts, Repeats},
	"getProgramAccounts":  {Slots, Owners, Amounts},
}

// lie changes the result of a method, or does not. result may be changed in place.
func (l *Liar) lie(method string, result any) (lie any, lied bool) {
	var kinds []string
	for _, kind := range lies[method] {
		if slices.Contains(l.behaviour.Only, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 || l.rng.Float64() >= l.behaviour.Share {
		return result, false
	}
	switch kind := kinds[l.rng.IntN(len(kinds))]; kind {
	case Repeats:
		before, ok := l.last[method]
		return repeated(result, copyOf(before)), ok
	case Slots:
		return l.slots(result)
	case Parents, Times:
		return l.block(result, kind)
	default:
		return l.accounts(result, kind)
	}
}

// repeated returns an earlier result, if it fits the question: a list must have as many elements.
func repeated(result, before any) any {
	list := func(v any) int {
		object, _ := v.(map[string]any)
		values, _ := object["value"].([]any)
		return len(values)
	}
	if before == nil || list(result) != list(before) {
		return result
	}
	return before
}

// slot returns a wrong slot in place of one.
func (l *Liar) slot(slot uint64) uint64 {
	near := func(distance uint64) uint64 { return 1 + l.rng.Uint64N(distance) }
	wrong := []uint64{
		math.MaxUint64 - 1, math.MaxUint64, 1 << 63, 1<<53 + 1, l.rng.Uint64(), 0, near(slot + 1),
		slot + near(100), slot + near(10_000), slot + near(10_000_000), slot - min(slot, near(100)), slot - min(slot, near(1_000_000)),
	}
	return wrong[l.rng.IntN(len(wrong))]
}

func slotOf(value any) (uint64, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	slot, err := strconv.ParseUint(n.String(), 10, 64)
	return slot, err == nil
}

// slots changes a slot, the context's slot, or a list of slots.
func (l *Liar) slots(result any) (any, bool) {
	switch r := result.(type) {
	case json.Number:
		slot, ok := slotOf(r)
		return number(l.slot(slot)), ok
	case []any:
		if len(r) == 0 {
			return r, false
		}
		switch at := l.rng.IntN(len(r)); l.rng.IntN(3) {
		case 0: // one is left out
			return slices.Delete(r, at, at+1), true
		case 1: // the last ones are left out
			return r[:at], true
		default: // one that has no block
			slot, ok := slotOf(r[len(r)-1])
			return append(r, number(l.slot(slot))), ok
		}
	case map[string]any:
		if context, ok := r["context"].(map[string]any); ok {
			slot, ok := slotOf(context["slot"])
			context["slot"] = number(l.slot(slot))
			return r, ok
		}
	}
	return result, false
}

// block changes the parent or the time of a block.
func (l *Liar) block(result any, kind string) (any, bool) {
	r, ok := result.(map[string]any)
	if !ok {
		return result, false
	}
	if kind == Parents {
		parent, ok := slotOf(r["parentSlot"])
		r["parentSlot"] = number(l.slot(parent))
		return r, ok
	}
	time, ok := slotOf(r["blockTime"])
	wrong := []int64{4_102_444_800, math.MaxInt64, -1, math.MinInt64, 1, 1_500_000_000, int64(time) + 86_400, int64(time) - 86_400, int64(time) * 1000}
	r["blockTime"] = json.Number(strconv.FormatInt(wrong[l.rng.IntN(len(wrong))], 10))
	return r, ok
}

// accounts changes one to all accounts of a result.
func (l *Liar) accounts(result any, kind string) (any, bool) {
	r, ok := result.(map[string]any)
	if !ok {
		return result, false
	}
	values, isList := r["value"].([]any)
	if !isList {
		values = []any{r["value"]}
	}
	if len(values) == 0 {
		return result, false
	}
	if kind == Others {
		// Mints and their metadata are asked for in turn: the lie keeps them in pairs at times.
		by := 1 + l.rng.IntN(2)
		if len(values) <= by {
			return result, false
		}
		r["value"] = append(slices.Clone(values[by:]), values[:by]...)
		return r, true
	}
	lied := false
	if kind == Supplies {
		for i := range values {
			_, ok := l.account(values[i], kind)
			lied = lied || ok
		}
		return r, lied
	}
	for count := 1 + l.rng.IntN(len(values)); count > 0; count-- {
		at := l.rng.IntN(len(values))
		changed, ok := l.account(values[at], kind)
		values[at], lied = changed, lied || ok
	}
	if !isList {
		r["value"] = values[0]
	}
	return r, lied
}

// owners are what an account is said to be owned by.
var owners = []string{"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb", "11111111111111111111111111111111",
	"metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s"}

// account changes an account as getMultipleAccounts or getProgramAccounts has it.
func (l *Liar) account(value any, kind string) (any, bool) {
	account, ok := value.(map[string]any)
	if !ok {
		return value, false
	}
	if inner, ok := account["account"].(map[string]any); ok {
		changed, lied := l.account(inner, kind)
		account["account"] = changed
		return account, lied && changed != nil
	}
	if kind == Owners {
		if at := l.rng.IntN(len(owners) + 1); at < len(owners) {
			account["owner"] = owners[at]
			return account, true
		}
		return nil, true
	}
	text, ok := account["data"].([]any)
	if !ok || len(text) == 0 {
		return value, false
	}
	first, _ := text[0].(string)
	data, err := base64.StdEncoding.DecodeString(first)
	if err != nil || len(data) < 82 {
		return value, false
	}
	if kind == Supplies {
		if owner, _ := account["owner"].(string); !strings.HasPrefix(owner, "Token") {
			return value, false
		}
		data[36] ^= 0x5a // the supply, see falsify
	} else {
		falsify(l.rng, data)
	}
	text[0] = base64.StdEncoding.EncodeToString(data)
	return account, true
}

// falsify changes a mint as its account has it (spl-token, state.rs): the authority is at 4, the
// supply at 36, the decimals at 44. Of a metadata account that is its key or its name.
func falsify(rng *rand.Rand, data []byte) {
	switch rng.IntN(3) {
	case 0:
		binary.LittleEndian.PutUint64(data[36:], rng.Uint64())
	case 1:
		data[44] = byte(rng.IntN(256))
	default:
		for i := range 32 {
			data[4+i] = byte(rng.IntN(256))
		}
	}
}
