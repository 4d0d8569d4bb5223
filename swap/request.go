package swap

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// Bounds of the parameters.
const (
	// maxSlippage is the whole amount, in basis points.
	maxSlippage = 10_000
	// maxFee is the most that a platform may take, in basis points.
	maxFee = 500
	// maxAccounts is how many accounts a transaction may lock (solana-message).
	maxAccounts = 64
	// maxPriorityFee is 1 SOL: a higher one is surely a typing error.
	maxPriorityFee = 1_000_000_000
	// maxAge is the highest max_age_slots, and the default: how many slots the state may be behind
	// the chain. State from a stream may be as many behind (market.HeldSlots).
	maxAge = market.HeldSlots
	// maxDexes is how many venues a request may name.
	maxDexes = 32
	// defaultSlippage is the slippage, in basis points, of a request in Jupiter's format that has
	// none. It is that of Jupiter's API.
	defaultSlippage = "50"
)

// The two values of swap_mode, as the specification spells them and as other routers do.
const (
	modeIn, modeOut           = "exact_in", "exact_out"
	modeInAlias, modeOutAlias = "ExactIn", "ExactOut"
)

// formatJupiter is the value of format.
const formatJupiter = "jupiter"

// request is the parsed and checked parameters of a quote.
type request struct {
	source, target venue.Key
	// sourceText and targetText are their base58.
	sourceText, targetText string
	// amount is the amount of source, or of target if exactOut.
	amount   uint64
	exactOut bool
	slippage uint64 // in basis points
	// user is nil when no transaction is wanted.
	user *venue.Key
	// jupiter asks for the answer in Jupiter's format.
	jupiter    bool
	onlyDirect bool
	// onlyHubs leaves out routes over the mints in which pump quotes its coins.
	onlyHubs bool
	// dexes are the only venues allowed, if it is not empty. excluded ones are never allowed.
	dexes, excluded map[string]bool
	maxAccounts     int
	// priorityFee is in lamports; nil: the server's price per compute unit.
	priorityFee *uint64
	fee         uint64 // the platform's, in basis points
	treasury    *venue.Key
	maxAge      uint64 // in slots
	// bound is the promise of a quote that the client sent back: the least out, or the most in if
	// exactOut. nil if there is none.
	bound *uint64
	delivery
}

// Rules of the parameters, as error messages state them.
const (
	ruleKey      = "must be a base58 address of 32 bytes"
	ruleAmount   = "must be a whole number of raw units from 1 to 18446744073709551615"
	ruleSlippage = "must be a whole number from 0 to 10000"
	ruleUser     = "must be a wallet: nobody can sign for an address off the curve"
	ruleBoolean  = "must be true or false"
)

// parser reads parameters and keeps the first error.
type parser struct {
	fields fields
	err    error
}

// parseRequest parses and checks the parameters. Its errors are 400s. They name the field, its
// value or that it is missing, and the rule. It reads nothing from the chain.
func parseRequest(f fields, needUser bool) (*request, error) {
	if err := cmp.Or(f.once(), f.honoured()); err != nil {
		return nil, err
	}
	f, err := f.expand()
	if err != nil {
		return nil, err
	}
	p, r := &parser{fields: f}, &request{}
	r.jupiter = p.choice(fieldFormat, "must be jupiter, or absent", formatJupiter) != ""
	r.source, r.sourceText = p.key(fieldSource)
	r.target, r.targetText = p.key(fieldTarget)
	if p.err == nil && r.source == r.target {
		name, _ := p.fields.get(fieldTarget)
		source, _ := p.fields.get(fieldSource)
		p.fail(name, r.targetText, "must differ from "+source)
	}
	p.amounts(r)
	p.slippage(r)
	r.onlyDirect = p.choice(fieldOnlyDirect, ruleBoolean, "true", "false") == "true"
	r.onlyHubs = p.choice(fieldOnlyHubs, ruleBoolean, "true", "false") == "true"
	r.dexes = p.venues(fieldDexes)
	r.excluded = p.venues(fieldExclude)
	r.maxAccounts = int(p.number(fieldMaxAccounts, maxAccounts, 1, maxAccounts))
	r.maxAge = p.number(fieldMaxAge, maxAge, 0, maxAge)
	p.money(r)
	p.delivery(r)
	p.user(r, needUser)
	if p.fields.text(memberBound) != "" {
		bound := p.number(memberBound, 0, 0, 1<<64-1)
		r.bound = &bound
	}
	if p.err != nil {
		return nil, p.err
	}
	return r, nil
}

func (p *parser) fail(name, text, rule string) {
	if p.err == nil {
		p.err = invalid(name, text, rule)
	}
}

// choice returns one of words, or "" if the parameter is absent.
func (p *parser) choice(field, rule string, words ...string) string {
	name, text := p.fields.get(field)
	if text != "" && !slices.Contains(words, text) {
		p.fail(name, text, rule)
	}
	return text
}

// number returns a whole number from least to most, or absent if the parameter is absent.
func (p *parser) number(field string, absent, least, most uint64) uint64 {
	name, text := p.fields.get(field)
	if text == "" {
		return absent
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < least || n > most {
		p.fail(name, text, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	}
	return n
}

// key returns a required address, and its text.
func (p *parser) key(field string) (key venue.Key, text string) {
	name, text := p.fields.get(field)
	if p.err == nil {
		key, p.err = parseKey(name, text)
	}
	return key, text
}

// amounts reads the mode, and the amount of the side that the mode fixes.
func (p *parser) amounts(r *request) {
	mode := p.choice(fieldMode, "must be exact_in or exact_out", modeIn, modeOut, modeInAlias, modeOutAlias)
	r.exactOut = mode == modeOut || mode == modeOutAlias
	field, other := fieldAmount, fieldAmountOut
	if r.exactOut {
		field, other = other, field
	}
	name, text := p.fields.get(field)
	switch n, err := strconv.ParseUint(text, 10, 64); {
	case p.err != nil:
	case p.fields.text(other) != "":
		p.fail(other, p.fields.text(other), "must be absent: "+fieldMode+" fixes "+field)
	case text == "":
		p.err = missing(field, ruleAmount)
	case err != nil || n == 0:
		p.fail(name, text, ruleAmount)
	default:
		r.amount = n
	}
}

// slippage reads the slippage. It is required, except in Jupiter's format, whose clients may leave
// it out.
func (p *parser) slippage(r *request) {
	name, text := p.fields.get(fieldSlippage)
	if text == "" && r.jupiter {
		text = defaultSlippage
	}
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case p.err != nil:
	case text == "":
		p.err = missing(fieldSlippage, ruleSlippage)
	case err != nil || n > maxSlippage:
		p.fail(name, text, ruleSlippage)
	}
	r.slippage = n
}

// venues reads a list of venues by name or label, separated by commas.
func (p *parser) venues(field string) map[string]bool {
	name, text := p.fields.get(field)
	if text == "" {
		return nil
	}
	list := strings.Split(text, ",")
	if len(list) > maxDexes {
		p.fail(name, text, fmt.Sprintf("must have at most %d entries", maxDexes))
		return nil
	}
	named := map[string]bool{}
	for _, entry := range list {
		known, ok := venueNamed(strings.TrimSpace(entry))
		if !ok {
			p.fail(name, text, "must be names of venues, separated by commas: GET "+routeVenues+" lists them")
			return nil
		}
		named[known] = true
	}
	return named
}

// money reads the priority fee, the platform's fee and the wallet that gets it.
func (p *parser) money(r *request) {
	p.priority(r)
	r.fee = p.number(fieldFee, 0, 0, maxFee)
	if name, text := p.fields.get(fieldTreasury); text != "" && p.err == nil {
		r.treasury = p.wallet(name, text)
		if r.fee == 0 {
			p.fail(name, text, "must be absent without "+fieldFee)
		}
	}
}

// user reads the wallet that signs. It may be absent, unless need is set. If there is a wallet and
// a fee, a treasury is required.
func (p *parser) user(r *request, need bool) {
	name, text := p.fields.get(fieldUser)
	offCurve := p.choice(fieldOffCurve, ruleBoolean, "true", "false") == "true"
	if p.err != nil || text == "" && !need {
		return
	}
	if offCurve {
		user, err := parseKey(name, text)
		r.user, p.err = &user, err
	} else {
		r.user = p.wallet(name, text)
	}
	if p.err == nil && r.fee > 0 && r.treasury == nil && r.feeAccount == nil {
		p.err = missing(fieldTreasury, "must be the wallet that gets "+fieldFee+", or give "+fieldFeeAccount)
	}
}

// wallet parses an address that can sign: one on the curve.
func (p *parser) wallet(name, text string) *venue.Key {
	key, err := parseKey(name, text)
	if err != nil {
		p.err = err
		return nil
	}
	if !solana.IsOnCurve(key[:]) {
		p.fail(name, text, ruleUser)
	}
	return &key
}

// parseKey parses a required address.
func parseKey(field, text string) (venue.Key, error) {
	if text == "" {
		return venue.Key{}, missing(field, ruleKey)
	}
	key, err := pubkey.Parse(text)
	if err != nil {
		return venue.Key{}, invalid(field, text, ruleKey)
	}
	return key, nil
}
