package history

import (
	"math/big"
	"reflect"
	"strings"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// fold is like registry.State, for facts that come in the order of their positions. In this order,
// a supply delta after the supply's last read only needs to be added up. So the state stays as
// small as the token is, however often it was minted and burnt.
type fold struct {
	mint  pubkey.Key
	state registry.State
	// base is the position at which the supply was last read; based is false if it never was.
	// deltas are the supply deltas after base, by item, and sum is their sum.
	base   schemas.Position
	based  bool
	deltas map[string]delta
	sum    *big.Int
	// newest is the position of the last delta that was counted.
	newest schemas.Position
}

type delta struct {
	position schemas.Position
	value    string
	amount   *big.Int
}

func newFold(mint pubkey.Key) *fold {
	return &fold{mint: mint, deltas: map[string]delta{}, sum: new(big.Int)}
}

// applyHeld begins the fold with the facts that hold, in any order. A supply delta may come before
// the read of the supply that it follows, because apply takes all deltas last.
func (f *fold) applyHeld(held []Held) {
	facts := make([]registry.Fact, len(held))
	for i := range held {
		facts[i] = held[i].Fact
	}
	f.apply(facts)
}

// apply folds the facts of one position. Retractions have a position before all others, so every
// fact that they cover comes after them.
func (f *fold) apply(facts []registry.Fact) {
	for _, fact := range facts {
		if fact.Register == registry.RegisterSupplyDelta || f.state.Retracted(&fact) {
			continue
		}
		f.state.Apply(fact)
		if fact.Register == registry.RegisterSupply {
			f.rebase(fact.Position)
		}
	}
	for _, fact := range facts {
		if fact.Register == registry.RegisterSupplyDelta && !f.state.Retracted(&fact) {
			f.count(fact)
		}
	}
}

// rebase drops the deltas that a read of the supply at position includes.
func (f *fold) rebase(position schemas.Position) {
	if f.based && position.Compare(f.base) <= 0 {
		return
	}
	f.base, f.based = position, true
	for item, d := range f.deltas {
		if d.position.Compare(position) <= 0 {
			f.sum.Sub(f.sum, d.amount)
			delete(f.deltas, item)
		}
	}
}

// count adds a supply delta. It ignores a delta without a read before it: since facts come in
// order, any later read includes it.
func (f *fold) count(fact registry.Fact) {
	if !f.based || fact.Position.Compare(f.base) <= 0 {
		return
	}
	amount, ok := new(big.Int).SetString(fact.Value, 10)
	if !ok {
		return
	}
	if known, again := f.deltas[fact.Item]; again {
		order := fact.Position.Compare(known.position)
		if order < 0 || order == 0 && strings.Compare(fact.Value, known.value) <= 0 {
			return
		}
		f.sum.Sub(f.sum, known.amount)
	}
	f.deltas[fact.Item] = delta{position: fact.Position, value: fact.Value, amount: amount}
	f.sum.Add(f.sum, amount)
	if fact.Position.Compare(f.newest) > 0 {
		f.newest = fact.Position
	}
}

// whole returns the state, with one supply delta, the sum, in place of all deltas.
func (f *fold) whole() *registry.State {
	if len(f.deltas) == 0 {
		return &f.state
	}
	state := new(registry.State)
	for _, fact := range f.state.Facts() {
		state.Apply(fact)
	}
	state.Apply(registry.Fact{Mint: f.mint, Register: registry.RegisterSupplyDelta, Position: f.newest, Value: f.sum.String()})
	return state
}

func (f *fold) token() (registry.Token, bool) { return f.whole().Token(f.mint) }

// view is the token, and whether its decimals and its program are known. The API shows unknown
// decimals as 0, and an unknown program as is_token22 false. Here both are null.
type view struct {
	token                   registry.Token
	hasDecimals, hasProgram bool
}

func (f *fold) view() (view, bool) {
	token, member := f.token()
	v := view{token: token}
	for _, fact := range f.state.Facts() {
		v.hasDecimals = v.hasDecimals || fact.Register == registry.RegisterDecimals
		v.hasProgram = v.hasProgram || fact.Register == registry.RegisterProgram
	}
	return v, member
}

// field returns the value of field i of the token, as in tokenFields, as JSON shows it; nil for
// null.
func (v *view) field(i int) any {
	name, value := tokenFields[i], reflect.ValueOf(v.token).Field(i)
	pointer := value.Kind() == reflect.Pointer
	switch {
	case name == "decimals" && !v.hasDecimals, name == "is_token22" && !v.hasProgram:
		return nil
	case (pointer || value.Kind() == reflect.Map || value.Kind() == reflect.Slice) && value.IsNil():
		return nil
	case pointer:
		return value.Elem().Interface()
	default:
		return value.Interface()
	}
}

// tokenFields are the API's names of registry.Token's fields, in its order.
var tokenFields = func() []string {
	fields := reflect.VisibleFields(reflect.TypeFor[registry.Token]())
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i], _, _ = strings.Cut(field.Tag.Get("json"), ",")
	}
	return names
}()

// changes returns the fields that differ, in the order of tokenFields.
func changes(before, after *view) []Change {
	list := []Change{}
	for i, name := range tokenFields {
		old, now := before.field(i), after.field(i)
		if !reflect.DeepEqual(old, now) {
			list = append(list, Change{Field: name, Before: old, After: now})
		}
	}
	return list
}
