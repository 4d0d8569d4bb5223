package swap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/txn"
	"github.com/mintlake/mintlake/swap/venue"
)

// made is a transaction for an answer, and what it was made of.
type made struct {
	Transaction
	built     *txn.Transaction
	blockhash venue.Key
	// warnings name who cannot pay what the transaction takes from him.
	warnings []string
}

// present is what was read from the chain for a transaction.
type present struct {
	// opened says which of the accounts that the transaction opens exist already. wrapped says that
	// the user's account for wrapped SOL exists, treasury that the treasury's account for the fee
	// does.
	opened            []bool
	wrapped, treasury bool
	// user and payer are what these two wallets have, in lamports.
	user, payer     uint64
	rent            venue.Rent
	blockhash       venue.Key
	lastValidHeight uint64
	// unread: none of the accounts were read.
	unread bool
}

// transaction builds what the user signs. For that it reads a blockhash, and which of these
// accounts exist: the user's account for wrapped SOL, those that the transaction would open, and
// the treasury's account for the platform's fee. It is an error if the treasury's account is
// missing.
func (s *Server) transaction(ctx context.Context, r *request, c *choice) (*made, error) {
	build := s.build(r, c)
	build.User, build.Accounts = *r.user, txn.Accounts{}
	opens, created, err := txn.Opens(build)
	if err != nil {
		return nil, err
	}
	p, err := s.present(ctx, r, &build, opens)
	if err != nil {
		return nil, err
	}
	build.Blockhash, build.HasWrapped = p.blockhash, p.wrapped
	if err := r.unwrapsElsewhere(&build); err != nil {
		return nil, err
	}
	if err := r.permits(c, &build, p); err != nil {
		return nil, err
	}
	built, err := s.tuned(ctx, r, build)
	if err != nil {
		return nil, err
	}
	need := needs(r, &build, built) // [0] from the user, [1] from the payer
	var deposit uint64
	for i, o := range opens {
		if p.opened[i] {
			continue
		}
		rent := p.rent.Of(o.Size)
		if deposit += rent; i < created {
			need[1] += rent
		} else {
			need[0] += rent
		}
	}
	if built.Temporary {
		need[1] += p.rent.Of(tokenAccountSize)
	}
	out := &made{built: built, blockhash: p.blockhash, Transaction: Transaction{
		LookupTables: make([]string, len(built.Tables)), Rent: deposit, Version: r.version.String(), Fee: built.Fee,
		Txn: base64.StdEncoding.EncodeToString(built.Bytes), LastValidBlockHeight: p.lastValidHeight,
		ComputeUnits: built.ComputeUnits, PriorityFee: built.PriorityFee, Unwraps: built.Unwraps,
	}}
	for i, table := range built.Tables {
		out.LookupTables[i] = table.String()
	}
	if !p.unread {
		out.warnings = poor(r, p, need)
	}
	return out, nil
}

// tuned builds the transaction. If the request asks for it, it then builds it again with the limit
// of compute units that a simulation shows, and with the priority fee that follows from what others
// paid.
func (s *Server) tuned(ctx context.Context, r *request, build txn.Request) (*txn.Transaction, error) {
	built, err := txn.Build(build)
	if err == nil && r.dynamicUnits {
		// The simulation counts what is used now. Another path through a pool may take a little
		// more.
		seen := s.simulate(ctx, base64.StdEncoding.EncodeToString(built.Bytes))
		if seen != nil && string(seen.Err) == "null" && seen.UnitsConsumed > 0 && seen.UnitsConsumed < uint64(built.ComputeUnits) {
			build.UnitLimit = uint32(min(seen.UnitsConsumed+seen.UnitsConsumed/dynamicMargin, uint64(built.ComputeUnits)))
			built, err = txn.Build(build)
		}
	}
	if err == nil && r.wish.percentile > 0 {
		build.UnitPrice = s.unitPriceOf(ctx, &r.wish, built)
		built, err = txn.Build(build)
	}
	if errors.Is(err, txwire.ErrMalformed) { // the payer is a program that the transaction calls
		field, key := fieldUser, r.user
		if r.payer != nil {
			field, key = fieldPayer, r.payer
		}
		return nil, invalid(field, key.String(), "must be a wallet, and no program that the transaction calls")
	}
	return built, err
}

// dynamicMargin says by how much the limit of compute units exceeds what a simulation used: by one
// part in five.
const dynamicMargin = 5

// permits returns an error if what was read does not allow what the request asks for.
func (r *request) permits(c *choice, build *txn.Request, p *present) error {
	switch {
	case p.unread:
		return nil
	case build.Fee != nil && build.Fee.Account == nil && !p.treasury:
		return invalid(fieldTreasury, build.Fee.Treasury.String(), "must have an associated account for "+r.target.String()+": create it first")
	case r.native != nil && p.wrapped:
		return invalid(fieldNative, r.native.String(), "must be absent while the user has an account for wrapped SOL: its SOL cannot be told from what is bought")
	case r.keepWrapped && r.source == mint.WrappedSOL && !p.wrapped:
		return invalid(fieldWrap, "false", "must be true unless the user has an account for wrapped SOL: there is none")
	case r.native != nil && c.minOut < p.rent.Of(0):
		return invalid(fieldAmount, decimal(r.amount), fmt.Sprintf("must buy at least %d lamports, which an account must have that gets SOL", p.rent.Of(0)))
	}
	return nil
}

// unwrapsElsewhere returns an error if bought SOL shall go to the account for wrapped SOL itself:
// that account is closed in the end, and all its lamports then go to the payer of its rent.
func (r *request) unwrapsElsewhere(build *txn.Request) error {
	if r.native == nil {
		return nil
	}
	wrapped, err := build.Accounts.Of(build.User, txn.Side{Mint: mint.WrappedSOL, Program: mint.Token})
	if err == nil && wrapped == *r.native {
		return invalid(fieldNative, r.native.String(), "must not be the user's account for wrapped SOL: give "+fieldWrap+"=false")
	}
	return err
}

// needs returns the lamports, without rents, that a transaction takes from the user, need[0], and
// from the payer, need[1].
func needs(r *request, build *txn.Request, built *txn.Transaction) (need [2]uint64) {
	need[1] = built.Fee + built.PriorityFee
	for i := range build.Swaps {
		if s := &build.Swaps[i]; s.In.Mint == mint.WrappedSOL && r.source == mint.WrappedSOL && !r.keepWrapped {
			need[0] += s.Spend
		}
	}
	switch tip := build.Tip; {
	case tip == nil:
	case tip.From == *r.user:
		need[0] += tip.Lamports
	case r.payer != nil && tip.From == *r.payer:
		need[1] += tip.Lamports
	}
	return need
}

// poor names who has fewer lamports than the transaction takes from him.
func poor(r *request, p *present, need [2]uint64) (warnings []string) {
	warn := func(field string, has, takes uint64) {
		if has < takes {
			warnings = append(warnings, fmt.Sprintf("%s: has %d lamports, and the transaction takes %d", field, has, takes))
		}
	}
	if r.payer == nil || *r.payer == *r.user {
		warn(fieldUser, p.user, need[0]+need[1])
		return warnings
	}
	warn(fieldUser, p.user, need[0])
	warn(fieldPayer, p.payer, need[1])
	return warnings
}

// present reads what a transaction depends on: a blockhash, and the accounts at one slot.
func (s *Server) present(ctx context.Context, r *request, build *txn.Request, opens []venue.Opening) (*present, error) {
	p := &present{unread: r.unread(build), opened: make([]bool, len(opens)), rent: s.rent()}
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		p.blockhash, p.lastValidHeight, err = s.blockhash(reading)
		return err
	})
	if !p.unread {
		wanted, err := wantedOf(build, opens)
		if err != nil {
			return nil, err
		}
		group.Go(func() error { return s.accounts(reading, build, wanted, p) })
	}
	if err := group.Wait(); err != nil {
		return nil, away(err)
	}
	return p, nil
}

// unread returns whether no account is read, because the request wants that. Unread accounts count
// as missing, so the transaction closes the user's account for wrapped SOL even if he had it
// before: its SOL goes to r.native, its rent to the payer. So if one of these is not the user,
// accounts are read all the same.
func (r *request) unread(build *txn.Request) bool {
	alone := r.native == nil && (r.payer == nil || *r.payer == *r.user)
	return r.skipAccounts && (alone || !build.Wraps())
}

// wantedOf returns the accounts of which transaction must know whether they exist: opens, then the
// user's account for wrapped SOL, then the treasury's account if there is a fee.
func wantedOf(build *txn.Request, opens []venue.Opening) ([]venue.Opening, error) {
	account, err := build.Accounts.Of(build.User, txn.Side{Mint: mint.WrappedSOL, Program: mint.Token})
	list := append(slices.Clone(opens), venue.Opening{Account: account, Owner: mint.Token})
	if err == nil && build.Fee != nil && build.Fee.Account == nil {
		account, err = build.Accounts.Of(build.Fee.Treasury, build.Out)
		list = append(list, venue.Opening{Account: account, Owner: build.Out.Program})
	}
	return list, err
}

// accounts reads the accounts of wantedOf, the user, the payer and the rent, all at one slot.
func (s *Server) accounts(ctx context.Context, build *txn.Request, wanted []venue.Opening, p *present) error {
	keys := make([]pubkey.Key, 0, len(wanted)+3)
	for _, o := range wanted {
		keys = append(keys, o.Account)
	}
	payer := build.User
	if build.Payer != nil {
		payer = *build.Payer
	}
	keys = append(keys, build.User, payer, venue.RentSysvar)
	_, accounts, err := s.deps.RPC.GetMultipleAccounts(ctx, keys, solana.AccountOptions{Commitment: market.Commitment, DataSlice: &solana.DataSlice{Length: venue.RentSize}})
	if err != nil {
		return err
	}
	// An address that merely holds lamports has another owner, and is no such account yet.
	there := func(i int) bool { return accounts[i] != nil && accounts[i].Owner == wanted[i].Owner }
	for i := range p.opened {
		p.opened[i] = there(i)
	}
	p.wrapped = there(len(p.opened))
	p.treasury = len(wanted) > len(p.opened)+1 && there(len(p.opened)+1)
	lamports := func(account *solana.Account) uint64 {
		if account == nil {
			return 0
		}
		return account.Lamports
	}
	rest := accounts[len(wanted):]
	p.user, p.payer, p.rent = lamports(rest[0]), lamports(rest[1]), s.learnRent(rest[2])
	return nil
}
