package market

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// located is a known pool with the name of its venue.
type located struct {
	venue.Ref
	venue string
}

// find lists the pair's pools on all venues, and remembers the list for PoolsTTL, or noPoolsTTL if
// it is empty. If one venue fails, it returns an error: a quote without that venue's pools could be
// worse than the market, and nobody would see it.
func (m *Market) find(ctx context.Context, p pair) ([]located, error) {
	if refs, ok := remembered(m, m.pools, p); ok {
		return refs, nil
	}
	found := make([][]venue.Ref, len(m.deps.Venues))
	group, ctx := errgroup.WithContext(ctx)
	for i, v := range m.deps.Venues {
		group.Go(func() (err error) {
			if found[i], err = m.ask(ctx, v, p); err != nil {
				return fmt.Errorf("%s: find pools: %w", v.Name(), err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var refs []located
	for i, list := range found {
		for _, r := range list {
			refs = append(refs, located{r, m.deps.Venues[i].Name()})
		}
	}
	ttl := m.cfg.PoolsTTL
	if len(refs) == 0 {
		ttl = min(ttl, noPoolsTTL)
	}
	remember(m, m.pools, p, refs, ttl)
	return refs, nil
}

// ask lists a venue's pools of a pair. Anyone can open pools, and a quote reads all pools of the
// list. So the list has only the maxPools with the greatest rank. Accounts that are not pools of
// the pair are left out.
func (m *Market) ask(ctx context.Context, v venue.Venue, p pair) ([]venue.Ref, error) {
	lookup, listed := m.deps.Directory.Lookup(v, p.a, p.b)
	var refs []venue.Ref
	add := func(address venue.Key, data []byte) {
		ref, err := v.Open(address, data, p.a, p.b)
		if err != nil {
			return
		}
		if mints := ref.Mints(); mints == [2]venue.Key{p.a, p.b} || mints == [2]venue.Key{p.b, p.a} {
			refs = append(refs, ref)
		}
	}
	for _, filter := range lookup.Filters {
		if err := ProgramAccounts(ctx, m.deps.RPC, Listing{Program: v.Program(), Filter: filter, Commitment: Commitment}, add); err != nil {
			return nil, err
		}
	}
	addresses := slices.Concat(lookup.Addresses, listed)
	if err := Accounts(ctx, m.deps.RPC, v.Program(), addresses, solana.AccountOptions{Commitment: Commitment}, add); err != nil {
		return nil, err
	}
	slices.SortFunc(refs, func(x, y venue.Ref) int {
		ax, ay := x.Address(), y.Address()
		return cmp.Or(cmp.Compare(y.Rank(), x.Rank()), bytes.Compare(ax[:], ay[:]))
	})
	return readable(refs, m.cfg.maxPools), nil
}

// Known is a pool of a pair that was asked for lately.
type Known struct {
	Venue string
	Ref   venue.Ref
}

// Known returns pools of the pairs that were asked for lately, up to the number most.
func (m *Market) Known(most int) (list []Known) {
	for _, kept := range m.pools.Values() {
		for _, r := range kept.value {
			if len(list) >= most {
				return list
			}
			list = append(list, Known{r.venue, r.Ref})
		}
	}
	return list
}

type programAccount struct {
	Pubkey  string `json:"pubkey"`
	Account struct {
		Data []string `json:"data"`
	} `json:"account"`
}

// Listing is what ProgramAccounts asks for.
type Listing struct {
	Program    venue.Key
	Filter     venue.Filter
	Commitment solana.Commitment
	// MinSlot is a slot that the server must have reached; 0: any.
	MinSlot uint64
}

// ProgramAccounts calls use with each account of a program that passes the filter. It leaves out
// accounts that the server returns in a wrong form, or that do not pass the filter.
func ProgramAccounts(ctx context.Context, rpc RPC, l Listing, use func(address venue.Key, data []byte)) error {
	options := map[string]any{"encoding": "base64", "commitment": l.Commitment, "filters": wireFilters(l.Filter)}
	if l.MinSlot > 0 {
		options["minContextSlot"] = l.MinSlot
	}
	var found []programAccount
	if err := rpc.Call(ctx, "getProgramAccounts", []any{l.Program.String(), options}, &found); err != nil {
		return err
	}
	for i := range found {
		address, err := pubkey.Parse(found[i].Pubkey)
		if err != nil || len(found[i].Account.Data) == 0 {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(found[i].Account.Data[0])
		if err == nil && l.Filter.Matches(data) {
			use(address, data)
		}
	}
	return nil
}

// Accounts reads the addresses, and calls use with each account whose owner is program.
func Accounts(ctx context.Context, rpc RPC, program venue.Key, addresses []venue.Key, o solana.AccountOptions, use func(address venue.Key, data []byte)) error {
	for chunk := range slices.Chunk(addresses, solana.MaxAccountsPerCall) {
		_, accounts, err := rpc.GetMultipleAccounts(ctx, chunk, o)
		if err != nil {
			return err
		}
		for i, account := range accounts {
			if account != nil && account.Owner == program {
				use(chunk[i], account.Data)
			}
		}
	}
	return nil
}
