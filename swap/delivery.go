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
	// payer pays the fee and the rents. nil: the user does.
	payer *venue.Key
	// destination is the token account that gets what is bought, native the account that gets the
	// SOL that is bought. If both are nil, the user's own accounts get it.
	destination, native *venue.Key
	// feeAccount is the token account that gets the platform's fee. nil: the associated account of
	// treasury gets it.
	feeAccount *venue.Key
	// keepWrapped says that sold SOL comes from the user's account for wrapped SOL, and that bought
	// SOL stays in it.
	keepWrapped bool
	// skipAccounts says that the accounts which the transaction may open are not read. See unread
	// for an exception.
	skipAccounts bool
	// dynamicUnits says that a simulation sets the limit of compute units.
	dynamicUnits bool
	// unitPrice is the priority fee in millionths of a lamport for each compute unit. nil: the
	// server's price.
	unitPrice *uint64
	wish      feeWish
	// sizes asks for the sizes of the transaction.
	sizes bool
	// pools are the only pools that may take part. nil: all pools may.
	pools map[venue.Key]bool
}

// maxUnitPrice is the highest price of a compute unit, in millionths of a lamport. At this price,
// the 1,400,000 units that a transaction may use cost maxPriorityFee.
const maxUnitPrice = maxPriorityFee * 1_000_000 / 1_400_000

// versions are the values of transaction_version. If the parameter is absent, the version is 0,
// which is the zero value.
var versions = map[string]txwire.Version{"legacy": txwire.Legacy, "0": txwire.V0, "1": txwire.V1}

// delivery reads the parameters about the transaction. The parameters about fees have been read
// before: recipients needs the treasury.
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

// recipients reads who gets what is bought, and which account gets the platform's fee.
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
// instruction names. Our tests have shown that by executing these programs. The programs of the
// other venues pay an account of the user only, or our tests cannot execute them.
var paysAnywhere = map[string]bool{
	"raydium_amm_v4": true, "raydium_cpmm": true, "raydium_clmm": true, "orca_whirlpool": true, "meteora_dlmm": true, "meteora_damm_v2": true, "meteora_dbc": true,
	"meteora_damm_v1": true,
}

// paysLamports are the venues that move SOL from and to the wallet itself.
var paysLamports = map[string]bool{"pump_curve": true}

// serves returns whether a request lets a pool take part. The venue must be allowed, the pool must
// be one of r.pools unless that is nil, and the venue must be able to pay the accounts that the
// request names.
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
	// A venue of paysLamports would take SOL from the wallet, or pay it to the wallet, in place of
	// the account that the request names.
	moves := sells || buys && r.target == mint.WrappedSOL
	return !moves || !paysLamports[name]
}
