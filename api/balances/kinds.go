package balances

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

const (
	// mostKinds is how many kinds are remembered, one for each pair of mint and owner, some 200
	// bytes each. kindTTL is how long they are remembered: a new pool counts as a program for at
	// most that long.
	mostKinds = 20_000
	kindTTL   = 5 * time.Minute
)

// holding is a mint and an owner of accounts of it.
type holding struct{ mint, owner pubkey.Key }

// kindAt is the kind of an owner, and when it was found.
type kindAt struct {
	kind string
	at   time.Time
}

// mostPlaces bounds the pools of a mint whose vaults are looked at, because SOL has millions of
// pools. A pool that owns its vaults itself is found by its own address, among any number of pools.
const mostPlaces = 20_000

// kinds returns the kind of each owner. ClickHouse is asked only about owners off the curve: an
// address on the curve cannot belong to a program, so it cannot own a vault.
func (c *ClickHouse) kinds(ctx context.Context, mint pubkey.Key, list []ranked) (map[pubkey.Key]string, error) {
	kinds, authorities := make(map[pubkey.Key]string, len(list)), schemas.VaultAuthorities()
	var unsure []pubkey.Key
	for i := range list {
		r := &list[i]
		text := r.owner.String()
		switch {
		case r.owner.IsZero():
			kinds[r.owner] = schemas.OwnerUnknown
		case slices.Contains(schemas.BurnAddresses(), text):
			kinds[r.owner] = schemas.OwnerBurn
		case r.onCurve():
			kinds[r.owner] = schemas.OwnerWallet
		case authorities[text] != "":
			kinds[r.owner] = authorities[text]
		default:
			kinds[r.owner] = schemas.OwnerProgram
			unsure = append(unsure, r.owner)
		}
	}
	unsure = slices.DeleteFunc(unsure, func(owner pubkey.Key) bool {
		found, known := c.known.Get(holding{mint, owner})
		if !known || time.Since(found.at) > kindTTL {
			return false
		}
		kinds[owner] = found.kind
		return true
	})
	if len(unsure) == 0 {
		return kinds, nil
	}
	if err := c.askKinds(ctx, mint, unsure, kinds); err != nil {
		return nil, err
	}
	for _, owner := range unsure {
		c.known.Add(holding{mint, owner}, kindAt{kinds[owner], time.Now()})
	}
	return kinds, nil
}

// askKinds sets the kinds of the owners whose accounts hold the reserves of pools or curves.
func (c *ClickHouse) askKinds(ctx context.Context, mint pubkey.Key, unsure []pubkey.Key, kinds map[pubkey.Key]string) error {
	owners := make([]string, 0, len(unsure))
	for _, owner := range unsure {
		owners = append(owners, owner.String())
	}
	return c.read(ctx, c.public, func(rows driver.Rows) error {
		var text string
		var curve bool
		if err := rows.Scan(&text, &curve); err != nil {
			return err
		}
		owner, err := pubkey.Parse(text)
		switch {
		case err != nil:
			return err
		case curve:
			kinds[owner] = schemas.OwnerCurve
		default:
			kinds[owner] = schemas.OwnerPool
		}
		return nil
	}, `SELECT owner, max(of_curve) FROM (
			SELECT pool AS owner, venue IN (`+texts(schemas.CurveVenues())+`) AS of_curve FROM {db}.pools_raw WHERE pool IN {owners:Array(String)}
			UNION ALL
			SELECT owner, of_curve FROM (SELECT owner, base58Encode(account) AS vault FROM {db}.wallet_accounts_raw WHERE owner IN {owners:Array(String)} AND mint = {mint:String}) AS a
			JOIN (SELECT arrayJoin([vault_a, vault_b]) AS vault, venue IN (`+texts(schemas.CurveVenues())+`) AS of_curve
				FROM {db}.pools_raw WHERE mint_a = {mint:String} OR mint_b = {mint:String} LIMIT 2 * {places:UInt32}) AS b USING vault
		) GROUP BY owner`, clickhouse.Named("owners", owners), clickhouse.Named("mint", mint.String()), clickhouse.Named("places", mostPlaces))
}

// onCurve returns whether the owner is a point of the ed25519 curve, as the addresses of wallets
// are.
func (r *ranked) onCurve() bool {
	if r.curve != nil {
		return *r.curve
	}
	return tokenaccount.OnCurve(r.owner)
}

// texts returns a list of constants for SQL. They must have no quotation marks.
func texts(list []string) string { return "'" + strings.Join(list, "', '") + "'" }

// kindOf returns the SQL expression of an owner's kind, by the rules of kinds. It aggregates the
// accounts t of the owner. If curve is false, there is no such column, and wallets get the kind of
// programs.
func kindOf(curve bool) string {
	pools, curves := placesOf(""), placesOf(" AND venue IN ("+texts(schemas.CurveVenues())+")")
	var authorities, curveAuthorities []string
	for address, kind := range schemas.VaultAuthorities() {
		authorities = append(authorities, address)
		if kind == schemas.OwnerCurve {
			curveAuthorities = append(curveAuthorities, address)
		}
	}
	slices.Sort(authorities)
	slices.Sort(curveAuthorities)
	among := func(addresses []string, places string) string {
		return "base58Encode(t.owner) IN (" + texts(addresses) + ") OR base58Encode(t.owner) IN " + places + " OR base58Encode(t.account) IN " + places
	}
	wallet := ""
	if curve {
		wallet = "curve, '" + schemas.OwnerWallet + "', "
	}
	return "multiIf(owner = toFixedString('', 32), '" + schemas.OwnerUnknown + "', base58Encode(owner) IN (" + texts(schemas.BurnAddresses()) + "), '" + schemas.OwnerBurn + "', " + wallet +
		"max(" + among(curveAuthorities, curves) + "), '" + schemas.OwnerCurve + "', max(" + among(authorities, pools) + "), '" + schemas.OwnerPool + "', '" + schemas.OwnerProgram + "')"
}

// placesOf returns the SQL of the pools of the mint that meet the condition, and of their vaults.
func placesOf(condition string) string {
	return "(SELECT arrayJoin([pool, vault_a, vault_b]) FROM {db}.pools_raw WHERE (mint_a = {mint:String} OR mint_b = {mint:String})" + condition + " LIMIT 3 * {places:UInt32})"
}
