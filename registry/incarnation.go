package registry

import (
	"strings"
)

// Items of RegisterClosed. A Token-2022 mint can be closed and made again at its address, as
// another token: what was said of it before is no longer so. These two say where one incarnation
// ended and where the next began.
const (
	// ItemClosed: the last CloseAccount of the mint.
	ItemClosed = "closed"
	// ItemInitialized: the last initialisation of the mint.
	ItemInitialized = "initialized"
)

// fieldItem is the item of an additional field's key.
func fieldItem(key []byte) string { return "." + strings.ToValidUTF8(string(key), "\uFFFD") }

// dead says that a fact is about what is gone: an earlier incarnation of the mint, an earlier set
// of additional fields, or a change of supply that a read covers. It compares positions only, and a
// fact that is beaten lies before the one that beats it; so leaving out what is dead before or
// after taking the last facts gives the same, in any order. (So no rule may look at more than the
// position: one that spared some of the facts before a place would depend on which of them was
// beaten first.) projector/tokens.sql says the same in SQL.
func (s *State) dead(fact *Fact) bool {
	switch fact.Register {
	case RegisterProgram, RegisterDecimals, RegisterSupply, RegisterMintAuthority, RegisterFreezeAuthority:
		return s.gone(fact) // an initialisation states all of them
	case RegisterLaunchpad, RegisterCreator, RegisterGraduated:
		return s.gone(fact) // a launch stands before the initialisation that it calls
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
		// The Metaplex account is another one, which stays when the mint is closed. The others are
		// not the mint account's.
		return false
	}
}

// gone says that the mint was closed behind the fact.
func (s *State) gone(fact *Fact) bool { return s.reaches(RegisterClosed, ItemClosed, fact) }

// reaches says that the fact held of register and item stands at the position of fact or behind it.
func (s *State) reaches(register Register, item string, fact *Fact) bool {
	held, ok := s.held(register, item)
	return ok && fact.Position.Compare(held.Position) <= 0
}

// before says that fact stands before the one held of register and item.
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

// ends says that a fact may make others dead.
func ends(fact *Fact) bool {
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

// fields are the additional fields of the mint's own metadata that are not empty; nil for none.
func (s *State) fields() (fields map[string]string) {
	first, _ := s.find(RegisterToken2022Field, "")
	for i := first; i < len(s.facts) && s.facts[i].Register == RegisterToken2022Field; i++ {
		if s.facts[i].Item == "" || s.facts[i].Value == "" {
			continue
		}
		if fields == nil {
			fields = map[string]string{}
		}
		fields[s.facts[i].Item[1:]] = s.facts[i].Value
	}
	return fields
}
