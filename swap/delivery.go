package swap

import (
	"slices"

	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// delivery is what a request says about its transaction: where the money goes, who pays, and how it
// is encoded.
type delivery struct {
	// version of the transaction.
	version txwire.Version
	// payer pays the fee and the rents; nil: the user.
	payer *venue.Key
	// destination is the token account that gets what is bought, native the account that gets the
	// SOL that is bought. Both nil: the user's own accounts.
	destination, native *venue.Key
	// feeAccount is the token account that gets the platform's fee; nil: that of treasury.
	feeAccount *venue.Key
	// keepWrapped sells and buys wrapped SOL in the user's account for it.
	keepWrapped bool
	// skipAccounts reads none of the accounts that the transaction may open: see unread.
	skipAccounts bool
	// dynamicUnits sets the limit of compute units by a simulation.
	dynamicUnits bool
	// unitPrice is the priority fee in millionths of a lamport for each compute unit; nil: the
	// server's.
	unitPrice *uint64
	wish      feeWish
	// sizes asks for the sizes of the transaction.
	sizes bool
	// pools are the only ones that may take part; nil: all.
	pools map[venue.Key]bool
}

// maxUnitPrice is the highest price of a compute unit, in millionths of a lamport: at it, all units
// that a transaction may use cost maxPriorityFee.
const maxUnitPrice = maxPriorityFee * 1_000_000 / 1_400_000

// versions are the values of transaction_version.
var versions = map[string]txwire.Version{"legacy": txwire.Legacy, "0": txwire.V0, "1": txwire.V1}

// delivery reads the parameters about the transaction. Those about fees come before.
func (p *parser) delivery(r *request) {
	d := &r.delivery
	name, text := p.fields.get(fieldVersion)
	version, known := versions[text]
	if d.version = version; text != "" && !known {
		p.fail(name, text, "must be 0, 1 or legacy")
	}
	if p.choice(fieldLegacy, ruleBoolean, "true", "false") == "true" {
		if d.version = txwire.Legacy; text != "" && text != "legacy" {
			p.fail(name, text, "must be legacy, or absent, with "+fieldLegacy)
		}
	}
	d.sizes = p.choice(fieldSizes, ruleBoolean, "true", "false") == "true"
	d.skipAccounts = p.choice(fieldSkipAccounts, ruleBoolean, "true", "false") == "true"
	d.dynamicUnits = p.choice(fieldDynamicUnits, ruleBoolean, "true", "false") == "true"
	d.keepWrapped = p.choice(fieldWrap, ruleBoolean, "true", "false") == "false"
	if name, text := p.fields.get(fieldPayer); text != "" && p.err == nil {
		d.payer = p.wallet(name, text)
	}
	p.recipients(r)
}

// recipients reads who gets what is bought.
func (p *parser) recipients(r *request) {
	optional := func(field string) (key *venue.Key, name, text string) {
		name, text = p.fields.get(field)
		if text == "" || p.err != nil {
			return nil, name, text
		}
		one, err := parseKey(name, text)
		p.err = err
		return &one, name, text
	}
	var name, text string
	r.destination, _, _ = optional(fieldDestination)
	if r.native, name, text = optional(fieldNative); r.native != nil {
		switch {
		case r.destination != nil:
			p.fail(name, text, "must be absent with "+fieldDestination)
		case r.target != mint.WrappedSOL:
			p.fail(name, text, "must be absent unless "+fieldTarget+" is the mint of wrapped SOL")
		case r.keepWrapped:
			p.fail(name, text, "must be absent if "+fieldWrap+" is false")
		}
	}
	if r.feeAccount, name, text = optional(fieldFeeAccount); r.feeAccount != nil {
		switch {
		case r.treasury != nil:
			p.fail(name, text, "must be absent with "+fieldTreasury)
		case r.destination != nil && *r.destination == *r.feeAccount:
			p.fail(name, text, "must differ from "+fieldDestination)
		}
	}
}

// paysAnywhere are the venues whose programs pay into whatever account of the bought token the
// instruction names, as runs of them show. The others pay the account of the user alone, or no run
// of them is to be had.
var paysAnywhere = map[string]bool{
	"raydium_amm_v4": true, "raydium_cpmm": true, "raydium_clmm": true, "orca_whirlpool": true, "meteora_dlmm": true, "meteora_damm_v2": true, "meteora_dbc": true,
	"meteora_damm_v1": true,
}

// paysLamports are the venues that move SOL from and to the wallet itself.
var paysLamports = map[string]bool{"pump_curve": true}

// serves returns whether a request lets a pool take part: it is one of those that it names, if it
// names any, and it can pay whom the request wants to be paid.
func (r *request) serves(name string, pool venue.Pool) bool {
	if !r.allows(name) || r.pools != nil && !r.pools[pool.Address()] {
		return false
	}
	if r.destination == nil && r.native == nil && !r.keepWrapped && r.feeAccount == nil {
		return true
	}
	mints := pool.Mints()
	sells := slices.Contains(mints[:], r.source) && r.source == mint.WrappedSOL && r.keepWrapped
	buys := slices.Contains(mints[:], r.target)
	if r.destination != nil && buys && !paysAnywhere[name] {
		return false
	}
	moves := sells || buys && r.target == mint.WrappedSOL
	return !moves || !paysLamports[name]
}
