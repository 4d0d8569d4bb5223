package dammv1

import (
	"fmt"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// ref implements venue.Ref. own are the pool account and its two token accounts for shares.
type ref struct {
	address venue.Key
	mints   [2]venue.Key
	own     []venue.Key
	vaults  [2]addresses
	// stake is the account with the price of token b; zero if the curve needs no price. locked is
	// how many of the pool's LP tokens are locked.
	stake  venue.Key
	locked uint64
}

// Address implements venue.Ref.
func (r *ref) Address() venue.Key { return r.address }

// Mints implements venue.Ref.
func (r *ref) Mints() [2]venue.Key { return r.mints }

// Rank implements venue.Ref. A pool account does not tell how much the pool has. So Rank is the
// number of LP tokens that are locked, as those of launched coins are.
func (r *ref) Rank() uint64 { return r.locked }

// Accounts implements venue.Ref: the pool, its token accounts for shares of two vaults, then each
// vault with its token account and the mint of its shares, then the account with the price of token
// b, if there is one.
func (r *ref) Accounts() []venue.Key {
	keys := append(make([]venue.Key, 0, 10), r.own...)
	for _, v := range r.vaults {
		keys = append(keys, v.vault, v.tokens, v.shareMint)
	}
	if r.stake != (venue.Key{}) {
		keys = append(keys, r.stake)
	}
	return keys
}

// Own implements venue.Ref. The vaults are not among them, as all pools of a token share its vault.
func (r *ref) Own() []venue.Key { return r.own }

// Decode implements venue.Ref.
func (r *ref) Decode(accounts venue.State) (venue.Pool, error) {
	p, err := r.decode(accounts)
	if err != nil {
		return nil, fmt.Errorf("pool %s: %w", r.address.String(), err)
	}
	return p, nil
}

func (r *ref) decode(accounts venue.State) (*Pool, error) {
	data, err := venue.Owned(accounts, r.address, Program)
	if err != nil {
		return nil, err
	}
	p := &Pool{address: r.address, vaults: r.vaults, stake: r.stake, kept: &memory{}}
	if p.state, err = decodeState(data); err != nil {
		return nil, err
	}
	switch {
	case p.state.mints != r.mints:
		return nil, fmt.Errorf("%w: %w", venue.ErrMalformed, venue.ErrAnotherPair)
	case p.state.err != nil:
		return nil, p.state.err
	}
	for side := range p.sides {
		if p.sides[side], err = r.side(accounts, &p.state, side); err != nil {
			return nil, err
		}
	}
	if r.stake != (venue.Key{}) {
		account, held := accounts.Account(r.stake)
		if !held {
			return nil, fmt.Errorf("%w: %s", venue.ErrUnread, r.stake.String())
		}
		p.stakePrice = p.state.curve.depeg.priceOf(account)
	}
	return p, nil
}

// side reads what the pool has of the token of a side.
func (r *ref) side(accounts venue.State, s *state, side int) (h half, err error) {
	at := &r.vaults[side]
	if h.mint, err = venue.Mint(accounts, r.mints[side]); err != nil {
		return h, err
	}
	if h.mint.Program != mint.Token {
		return h, fmt.Errorf("%w: a vault has no Token-2022", venue.ErrMint)
	}
	if h.vault, err = venue.Config(accounts, at.vault, VaultProgram, decodeVault); err != nil {
		return h, err
	}
	switch v := h.vault; {
	case s.vaults[side] != at.vault, s.shares[side] != r.own[1+side], v.mint != r.mints[side], v.tokens != at.tokens:
		return h, fmt.Errorf("%w: the vault of another pool", venue.ErrMalformed)
	case v.shareMint != at.shareMint:
		return h, fmt.Errorf("%w: a vault whose shares are not at a known address", venue.ErrUnverified)
	}
	shares, err := venue.Mint(accounts, at.shareMint)
	if err != nil {
		return h, err
	}
	h.supply = shares.Supply
	if h.tokens, err = venue.Vault(accounts, at.tokens, r.mints[side], mint.Token); err != nil {
		return h, err
	}
	h.shares, err = venue.Vault(accounts, s.shares[side], at.shareMint, mint.Token)
	return h, err
}

// half is what a pool has of one token.
type half struct {
	mint  *mint.Mint
	vault *vault
	// tokens is what the vault has not lent. supply is how many shares of the vault there are,
	// shares how many of them the pool has.
	tokens, shares, supply uint64
}

// Pool is a pool's state at one slot.
type Pool struct {
	address venue.Key
	vaults  [2]addresses
	state   state
	sides   [2]half
	// stake is the account with the price of token b. stakePrice is that price; 0 if the account
	// has none.
	stake      venue.Key
	stakePrice uint64
	kept       *memory
}

// Address implements venue.Pool.
func (p *Pool) Address() venue.Key { return p.address }

// Mints implements venue.Pool.
func (p *Pool) Mints() [2]venue.Key { return p.state.mints }

var _ venue.Joint = (*Pool)(nil)

// Joints implements venue.Joint: the vaults, as the roundings of each swap change what their shares
// are worth.
func (p *Pool) Joints() []venue.Key { return []venue.Key{p.vaults[0].vault, p.vaults[1].vault} }
