package audit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// Verdict is the result of comparing one field of one mint.
type Verdict string

// Verdicts.
const (
	Equal  Verdict = "equal"
	Differ Verdict = "differ"
	// UnknownHere: the chain says something, the registry nothing.
	UnknownHere Verdict = "unknown_here"
	// UnknownThere: the registry says something, the accounts say nothing, or no longer do.
	UnknownThere Verdict = "unknown_there"
	// Moved: the field changed after the slot of every read, so the registry no longer has its
	// value at that slot. A change above the chain's head is no change: it differs.
	Moved Verdict = "moved"
)

// Row is what the registry has of a mint.
type Row struct {
	// Facts are what the row was made of.
	Facts []registry.Fact
	// Columns are the row's columns by name, as text; empty for null.
	Columns map[string]string
}

// finding is the verdict on one field of one mint. here is the registry's value, there the chain's.
type finding struct {
	field, item string
	verdict     Verdict
	here, there string
}

// result has the findings of one mint.
type result struct {
	mint pubkey.Key
	slot uint64
	// head is the chain's head, at or above slot.
	head     uint64
	findings []finding
	// metaplexUnreadable: the Metaplex account exists, but this version cannot parse it.
	metaplexUnreadable bool
}

// unsettled reports whether another read may give a better result. first says that this was the
// first read: what is unknown here mostly stays unknown, so it is worth only one more read.
func (r *result) unsettled(first bool) bool {
	return slices.ContainsFunc(r.findings, func(f finding) bool {
		return f.verdict == Differ || f.verdict == Moved || first && f.verdict == UnknownHere
	})
}

func (r *result) add(field, item string, verdict Verdict, here, there string) {
	r.findings = append(r.findings, finding{field: field, item: item, verdict: verdict, here: here, there: there})
}

// addLater adds the finding on a field that has a fact of a later slot than the read: it differs if
// the chain has not reached that slot, or else has moved.
func (r *result) addLater(field, item string, fact registry.Fact) {
	if fact.Position.Slot > r.head {
		r.add(field, item, Differ, fmt.Sprintf("%s at slot %d", fact.Value, fact.Position.Slot), fmt.Sprintf("the chain's head is slot %d", r.head))
		return
	}
	r.add(field, item, Moved, "", "")
}

// compare compares the accounts of one mint with its row. head is the chain's head; it counts if it
// is above the slot of the read. known is false if there is no row. compare is pure.
func compare(read *mintRead, row Row, known bool, head uint64) result {
	r := result{mint: read.mint, slot: read.slot, head: max(read.slot, head)}
	chain, whyNone := chainView(read, &r)
	if !known {
		// The mint was a member when the sample was taken: its row will be back, or the mint has
		// gone for good.
		r.add(FieldExists, "", Moved, "no row", whyNone)
		return r
	}
	held, moved := asOf(row.Facts, read.slot, r.head)
	here := viewOf(read.mint, held)
	r.exists(here, moved, chain != nil, whyNone)
	if chain == nil {
		return r
	}
	for _, f := range fields() {
		if i := slices.IndexFunc(f.registers, func(register registry.Register) bool { _, ok := moved.registers[register]; return ok }); i >= 0 {
			r.addLater(f.name, "", moved.registers[f.registers[i]])
			continue
		}
		ours, oursKnown := f.value(here)
		theirs, theirsKnown := f.value(chain)
		r.judge(f.name, "", ours, oursKnown, theirs, theirsKnown)
	}
	if chain.token.IsToken22 {
		r.extensions(here, chain, moved.items)
	}
	r.row(row)
	return r
}

// chainView returns the mint as its accounts describe it; nil and the reason if there is no mint.
// It sets r.metaplexUnreadable.
func chainView(read *mintRead, r *result) (*view, string) {
	if read.mintAccount == nil {
		return nil, "no account"
	}
	mint, err := tokenaccount.ParseMint(read.mintAccount.Owner, read.mintAccount.Data)
	if err != nil {
		return nil, err.Error()
	}
	facts := registry.FactsOfEnrichment(&eventspb.Enrichment{
		Mint: read.mint[:], Slot: read.slot, Fact: &eventspb.Enrichment_MintAccount{MintAccount: mint.Fact(read.mint)},
	})
	if metaplex := read.metaplexAccount; metaplex != nil && metaplex.Owner == tokenaccount.ProgramMetaplex {
		metadata, err := tokenaccount.ParseMetaplex(metaplex.Data)
		switch {
		case err == nil && metadata.Mint == read.mint:
			address, _ := tokenaccount.MetaplexAddress(read.mint)
			facts = append(facts, registry.FactsOfEnrichment(&eventspb.Enrichment{
				Mint: read.mint[:], Slot: read.slot, Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: metadata.Fact(address)},
			})...)
		case !errors.Is(err, tokenaccount.ErrOtherKind): // a closed account is of another kind
			r.metaplexUnreadable = true
		}
	}
	return viewOf(read.mint, facts), ""
}

// exists compares whether the mint exists in the registry and on the chain. A mint of which the
// registry had no account state yet at the slot counts as moved.
func (r *result) exists(here *view, moved laterFacts, onChain bool, whyNone string) {
	closed := here.facts[registry.RegisterClosed].Value == "true"
	text := func(exists bool, why string) string {
		if exists {
			return "mint"
		}
		return why
	}
	fact, changed := moved.registers[registry.RegisterClosed]
	switch {
	case changed:
		r.addLater(FieldExists, "", fact)
	case !here.knows(registry.RegisterProgram):
		r.add(FieldExists, "", Moved, "", "")
	case closed == onChain:
		r.add(FieldExists, "", Differ, text(!closed, "closed"), text(onChain, whyNone))
	default:
		r.add(FieldExists, "", Equal, "", "")
	}
}

// judge compares two values. There is no finding if no side knows the value, or if only one side
// knows it and it is empty.
func (r *result) judge(field, item, here string, hereKnown bool, there string, thereKnown bool) {
	switch {
	case hereKnown && thereKnown && here == there:
		r.add(field, item, Equal, "", "")
	case hereKnown && thereKnown:
		r.add(field, item, Differ, here, there)
	case thereKnown && there != "":
		r.add(field, item, UnknownHere, "", there)
	case hereKnown && here != "":
		r.add(field, item, UnknownThere, here, "")
	}
}

// extensions compares every extension and every attribute. An item without a dot is the name of an
// extension; any other item is an attribute. The registry does not claim to know all extensions of
// a mint, so an extension that it lacks is unknown here. An extension that only the account lacks
// is wrong in the registry, since a mint never loses an extension.
func (r *result) extensions(here, chain *view, moved map[string]registry.Fact) {
	// An item that only a later fact names did not exist at the slot of the read. It is left out,
	// unless that fact is above the chain's head, and so is wrong.
	items := map[string]bool{}
	for item, fact := range moved {
		items[item] = fact.Position.Slot > r.head
	}
	for _, side := range []map[string]string{here.items, chain.items} {
		for item := range side {
			items[item] = true
		}
	}
	maps.DeleteFunc(items, func(_ string, listed bool) bool { return !listed })
	for _, item := range slices.Sorted(maps.Keys(items)) {
		field, name := FieldExtensions, !strings.Contains(item, ".")
		switch {
		case isBalance(item):
			field = FieldExtensionBalances
		case !name:
			field = FieldExtensionAttributes
		}
		ours, oursKnown := here.items[item]
		theirs, theirsKnown := chain.items[item]
		fact, changed := moved[item]
		switch {
		case changed:
			r.addLater(field, item, fact)
		case name && oursKnown && theirsKnown:
			r.add(field, item, Equal, "", "")
		case name && theirsKnown:
			r.add(field, item, UnknownHere, "", item)
		case name:
			r.add(field, item, Differ, item, "")
		default:
			r.judge(field, item, ours, oursKnown, theirs, theirsKnown)
		}
	}
}

// row compares the columns with the facts that they are made of.
func (r *result) row(row Row) {
	token := viewOf(r.mint, row.Facts).token
	text := func(value *string) string {
		if value == nil {
			return ""
		}
		return *value
	}
	wanted := map[string]string{
		"symbol": token.Symbol, "name": token.Name, "supply": text(token.Supply), "mint_authority": text(token.MintAuthority),
		"freeze_authority": text(token.FreezeAuthority), "metaplex_uri": text(token.MetaplexURI), "update_authority": text(token.UpdateAuthority),
		"program": schemas.ProgramToken,
	}
	if token.IsToken22 {
		wanted["program"] = schemas.ProgramToken2022
	}
	var here, there []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if got := row.Columns[name]; got != wanted[name] {
			here, there = append(here, name+"="+got), append(there, name+"="+wanted[name])
		}
	}
	if len(here) > 0 {
		r.add(FieldRow, "", Differ, strings.Join(here, " "), strings.Join(there, " "))
		return
	}
	r.add(FieldRow, "", Equal, "", "")
}
