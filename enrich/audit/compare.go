package audit

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mintlake/mintlake/internal/tokenaccount"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Verdict is what came of comparing one field of one mint.
type Verdict string

// Verdicts.
const (
	Equal  Verdict = "equal"
	Differ Verdict = "differ"
	// UnknownHere: the chain says something, the registry nothing.
	UnknownHere Verdict = "unknown_here"
	// UnknownThere: the registry says something of which the accounts say nothing (any more).
	UnknownThere Verdict = "unknown_there"
	// Moved: it changed behind the slot of every read, so that the registry does not tell any more
	// what it was then.
	Moved Verdict = "moved"
)

// Row is what the registry has of a mint.
type Row struct {
	// Facts behind the row.
	Facts []registry.Fact
	// Columns of the row by name, as text; empty for null.
	Columns map[string]string
}

// finding is one field of one mint.
type finding struct {
	field, item string
	verdict     Verdict
	here, there string
}

// result is one mint.
type result struct {
	mint     string
	slot     uint64
	findings []finding
	// metaplexUnreadable: the Metaplex account is there and no metadata that this version reads.
	metaplexUnreadable bool
}

// unsettled says that another read may come out better. What is unknown stays so most often, and is
// worth one.
func (r *result) unsettled(first bool) bool {
	return slices.ContainsFunc(r.findings, func(f finding) bool {
		return f.verdict == Differ || f.verdict == Moved || first && f.verdict == UnknownHere
	})
}

func (r *result) add(field, item string, verdict Verdict, here, there string) {
	r.findings = append(r.findings, finding{field: field, item: item, verdict: verdict, here: here, there: there})
}

// compare is pure.
func compare(read *account, row Row, known bool) result {
	r := result{mint: read.mint, slot: read.slot}
	chain, whyNone := chainView(read, &r)
	if !known {
		// It was a member when the sample was taken, so it will be there again, or has gone for
		// good.
		r.add(FieldExists, "", Moved, "no row", whyNone)
		return r
	}
	held, moved, movedItems := asOf(row.Facts, read.slot)
	here := viewOf(read.mint, held)
	r.exists(here, moved, chain != nil, whyNone)
	if chain == nil {
		return r
	}
	for _, f := range fields() {
		if slices.ContainsFunc(f.registers, func(register registry.Register) bool { return moved[register] }) {
			r.add(f.name, "", Moved, "", "")
			continue
		}
		ours, oursKnown := f.value(here)
		theirs, theirsKnown := f.value(chain)
		r.judge(f.name, "", ours, oursKnown, theirs, theirsKnown)
	}
	if chain.token.IsToken22 {
		r.extensions(here, chain, movedItems)
	}
	r.row(row)
	return r
}

// chainView is the mint as its accounts say it; nil and why when there is no mint.
func chainView(read *account, r *result) (*view, string) {
	if read.mintAccount == nil {
		return nil, "no account"
	}
	mint, err := tokenaccount.ParseMint(read.mintAccount.Owner, read.mintAccount.Data)
	if err != nil {
		return nil, err.Error()
	}
	facts := registry.FactsOfEnrichment(&eventspb.Enrichment{
		Mint: read.key[:], Slot: read.slot, Fact: &eventspb.Enrichment_MintAccount{MintAccount: mint.Fact(read.key)},
	})
	if metaplex := read.metaplexAccount; metaplex != nil && metaplex.Owner == tokenaccount.ProgramMetaplex {
		metadata, err := tokenaccount.ParseMetaplex(metaplex.Data)
		switch {
		case err == nil && metadata.Mint == read.key:
			address, _ := tokenaccount.MetaplexAddress(read.key)
			facts = append(facts, registry.FactsOfEnrichment(&eventspb.Enrichment{
				Mint: read.key[:], Slot: read.slot, Fact: &eventspb.Enrichment_MetaplexAccount{MetaplexAccount: metadata.Fact(address)},
			})...)
		case !errors.Is(err, tokenaccount.ErrOtherKind): // a closed one is of another kind
			r.metaplexUnreadable = true
		}
	}
	return viewOf(read.mint, facts), ""
}

func (r *result) exists(here *view, moved map[registry.Register]bool, onChain bool, whyNone string) {
	closed := here.facts[registry.RegisterClosed].Value == "true"
	text := func(exists bool, why string) string {
		if exists {
			return "mint"
		}
		return why
	}
	switch {
	case moved[registry.RegisterClosed], !here.knows(registry.RegisterProgram):
		r.add(FieldExists, "", Moved, "", "")
	case closed == onChain:
		r.add(FieldExists, "", Differ, text(!closed, "closed"), text(onChain, whyNone))
	default:
		r.add(FieldExists, "", Equal, "", "")
	}
}

// judge compares two values. What one side does not know and the other has nothing of is no
// finding.
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

// extensions compares every name and every attribute. The registry claims no complete list: a name
// that it has not heard of is unknown here. One that the account does not have is wrong, since no
// extension ever leaves a mint.
func (r *result) extensions(here, chain *view, moved map[string]bool) {
	items := map[string]bool{}
	for _, side := range []map[string]string{here.items, chain.items} {
		for item := range side {
			items[item] = true
		}
	}
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
		switch {
		case moved[item]:
			r.add(field, item, Moved, "", "")
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
