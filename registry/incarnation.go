package registry

import (
	"strings"
)

// Items of RegisterClosed. A Token-2022 mint can be closed and created again at its address, as
// another token. Facts about the earlier token no longer hold. The positions of these two items are
// where one incarnation ended and where the next began.
const (
	// ItemClosed: the last CloseAccount of the mint.
	ItemClosed = "closed"
	// ItemInitialized: the last initialisation of the mint.
	ItemInitialized = "initialized"
)

// fieldItem returns the item of RegisterToken2022Field for an additional field's key.
func fieldItem(key []byte) string { return "." + strings.ToValidUTF8(string(key), "\uFFFD") }

// dead reports whether a fact is about something that is gone: an earlier incarnation of the mint,
// an earlier set of additional fields, or a change of supply that a later read of the supply
// includes. projector/tokens.sql has the same rules in SQL.
//
// The rules compare positions only. A fact that is beaten never has a higher position than the one
// that beats it, so dead facts can be removed before or after the highest facts are taken, in any
// order. A rule that looked at more than the position would break this: the result would depend on
// which facts had already been beaten.
func (s *State) dead(fact *Fact) bool {
	switch fact.Register {
	case RegisterProgram, RegisterDecimals, RegisterSupply, RegisterMintAuthority, RegisterFreezeAuthority:
		return s.gone(fact) // an initialisation states all of them anew
	case RegisterLaunchpad, RegisterCreator, RegisterGraduated:
		return s.gone(fact) // the launch may come before the initialisation, which it calls
	case RegisterMetadataPointer, RegisterExtension:
		// extensions are initialised before the mint is, perhaps in an earlier transaction
		return s.gone(fact)
	case RegisterSupplyDelta:
		return s.gone(fact) || s.reaches(RegisterSupply, "", fact)
	case RegisterToken2022Name, RegisterToken2022Symbol, RegisterToken2022URI, RegisterToken2022UpdateAuthority:
		return s.gone(fact) || s.before(fact, RegisterClosed, ItemInitialized)
	case RegisterToken2022Field:
		return s.gone(fact) || s.before(fact, RegisterClosed, ItemInitialized) || s.before(fact, RegisterToken2022Field, "")
	default:
		// The Metaplex metadata account stays when the mint is closed. RegisterClosed is what the
		// rules compare with. The other registers do not come from the mint account.
		return false
	}
}

// gone reports whether the mint was closed at the fact's position or after it.
func (s *State) gone(fact *Fact) bool { return s.reaches(RegisterClosed, ItemClosed, fact) }

// reaches reports whether the fact held for register and item is at the position of fact or after
// it.
func (s *State) reaches(register Register, item string, fact *Fact) bool {
	held, ok := s.held(register, item)
	return ok && fact.Position.Compare(held.Position) <= 0
}

// before reports whether fact is positioned before the fact held for register and item.
func (s *State) before(fact *Fact, register Register, item string) bool {
	held, ok := s.held(register, item)
	return ok && fact.Position.Compare(held.Position) < 0
}

func (s *State) held(register Register, item string) (*Fact, bool) {
	i, found := s.find(register, item)
	if !found {
		return nil, false
	}
	return &s.facts[i], true
}

// mayEndOthers reports whether a fact may make other facts dead.
func mayEndOthers(fact *Fact) bool {
	switch fact.Register {
	case RegisterSupply:
		return true
	case RegisterClosed:
		return fact.Item != ""
	case RegisterToken2022Field:
		return fact.Item == ""
	default:
		return false
	}
}

// FieldShown reports whether a fact about an additional field of the mint's own metadata shows
// among its extensions. A field with an empty text does not. Neither does a field whose key has
// characters that Shown changes: it could be taken for another field.
func FieldShown(f *Fact) bool {
	return f.Item != "" && f.Value != "" && !strings.ContainsFunc(f.Item, hidden)
}

// fields returns the additional fields of the mint's own metadata whose text is not empty, by key,
// as they are shown; nil if there are none.
func (s *State) fields() (fields map[string]string) {
	first, _ := s.find(RegisterToken2022Field, "")
	for i := first; i < len(s.facts) && s.facts[i].Register == RegisterToken2022Field; i++ {
		if !FieldShown(&s.facts[i]) {
			continue
		}
		if fields == nil {
			fields = map[string]string{}
		}
		fields[s.facts[i].Item[1:]] = Shown(s.facts[i].Value)
	}
	return fields
}
