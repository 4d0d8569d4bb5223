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
	// mostKinds is how many owners of a mint are remembered, some 200 bytes each, and kindTTL for
	// how long: a pool that is new is a program's address at most so long.
	mostKinds = 20_000
	kindTTL   = 5 * time.Minute
)

// holding is an owner of a mint's accounts.
type holding struct{ mint, owner pubkey.Key }

// kindAt is the kind of an owner, and when it was found.
type kindAt struct {
	kind string
	at   time.Time
}

// mostPlaces bounds the pools of a mint whose vaults are looked at, since SOL has millions. A pool
// that holds its vaults itself is found among any number.
const mostPlaces = 20_000

// kinds returns the kind of each owner. What an owner's accounts are for is asked only of owners
// off the curve: nobody else can be a program's.
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

// askKinds sets the kinds of the owners that hold reserves of pools or curves.
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

func (r *ranked) onCurve() bool {
	if r.curve != nil {
		return *r.curve
	}
	return tokenaccount.OnCurve(r.owner)
}

// texts writes a list of constants for SQL.
func texts(list []string) string { return "'" + strings.Join(list, "', '") + "'" }

// kindOf is kinds in SQL, for the rows t of an owner. Without curve, wallets and programs are one.
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

// placesOf is the pools of the mint, and their vaults.
func placesOf(condition string) string {
	return "(SELECT arrayJoin([pool, vault_a, vault_b]) FROM {db}.pools_raw WHERE (mint_a = {mint:String} OR mint_b = {mint:String})" + condition + " LIMIT 3 * {places:UInt32})"
}
