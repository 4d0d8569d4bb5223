package trust

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/venue"
)

const (
	// probesAt is how many pools of a venue that is not trusted are looked at in a round.
	probesAt = 4
	// trustedRounds is the period of the rounds that look at trusted venues: the first two of every
	// trustedRounds rounds look at one pool of each trusted venue.
	trustedRounds = 15
	// maxProbes is how many pools' states are kept.
	maxProbes = 256
	// maxSignatures is the most signatures that getSignaturesForAddress returns.
	maxSignatures = 1000
	// probeAge is how old a state may get without a swap before it is read again: accounts that
	// pools share may have changed.
	probeAge = time.Minute
	// quiet is how long a venue is not probed after the stream brought a transaction on its pools.
	quiet = 30 * time.Second
)

// probe is the state of a pool at a slot.
type probe struct {
	slot     uint64
	at       time.Time
	accounts map[venue.Key]*solana.Account
}

// probeAll looks at pools, round after round. It is for venues whose swaps no stream brings.
func (t *Trust) probeAll(ctx context.Context) {
	tick := time.NewTicker(t.deps.Terms.Probe)
	defer tick.Stop()
	for round := 0; ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if t.deps.Pools == nil {
			continue
		}
		for _, p := range t.chosen(round) {
			if err := t.probe(ctx, p); err != nil && ctx.Err() == nil {
				t.metrics.probes.WithLabelValues("failed").Inc()
				t.deps.Logger.Debug("a pool was not looked at", "venue", p.Venue, "pool", p.Ref.Address().String(), "err", err)
			}
		}
	}
}

// chosen returns the pools of a round. Venues whose swaps the stream brings are left out.
func (t *Trust) chosen(round int) (list []Pool) {
	of := map[string][]Pool{}
	for _, p := range t.deps.Pools() {
		of[p.Venue] = append(of[p.Venue], p)
	}
	for _, name := range t.book.order {
		// Two rounds in a row have the same pools: the first reads their state, the second looks
		// for swaps.
		pools, count, visit := of[name], probesAt, round/2
		if stop, _ := t.Stop(name); stop == nil {
			count, visit = 1, round/trustedRounds
			if round%trustedRounds > 1 {
				continue
			}
		}
		t.mu.Lock()
		fed := t.fed[name]
		t.mu.Unlock()
		if t.deps.Now().Sub(fed) < quiet {
			continue
		}
		count = min(count, len(pools))
		for i := range count {
			list = append(list, pools[(visit*count+i)%len(pools)])
		}
	}
	return list
}

// probe looks for the first transaction on a pool since its state was read. If there is one, it
// replays it and reads the state again. It only reads the state if there is none yet, or if it is
// too old.
func (t *Trust) probe(ctx context.Context, p Pool) error {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	known := t.probes[p.Ref.Address()]
	if known == nil {
		return t.readProbe(ctx, p)
	}
	signature, whole, err := t.firstAfter(ctx, p.Ref.Address(), known.slot)
	switch {
	case err != nil:
		return err
	case !whole:
		return t.readProbe(ctx, p)
	case signature == "":
		if t.deps.Now().Sub(known.at) > probeAge {
			return t.readProbe(ctx, p)
		}
		return nil
	}
	tx, err := t.fetch(ctx, signature)
	if err != nil {
		// With this state, each later round would find the same transaction.
		delete(t.probes, p.Ref.Address())
		return err
	}
	if err := t.readProbe(ctx, p); err != nil {
		return err
	}
	v := t.venues[p.Venue]
	e := &Evidence{Venue: v, Ref: p.Ref, Before: known.accounts, Transaction: tx}
	r := t.replay(e)
	// Accounts that pools share may have changed at any time between the two readings. So the
	// replay must have the same result with their later state.
	later := *e
	later.Before = maps.Clone(known.accounts)
	for key, account := range t.probes[p.Ref.Address()].accounts {
		if !slices.Contains(p.Ref.Own(), key) {
			later.Before[key] = account
		}
	}
	if r.outcome != skipped && t.replay(&later) != r {
		r = skip("accounts that pools share changed meanwhile")
	}
	t.metrics.probes.WithLabelValues("found").Inc()
	t.conclude(ctx, e, r)
	return nil
}

// readProbe reads a pool's state, at commitment confirmed: a processed state may be of a fork that
// loses.
func (t *Trust) readProbe(ctx context.Context, p Pool) error {
	mints := p.Ref.Mints()
	keys := append(slices.Clone(venue.Needs(p.Ref)), mints[:]...)
	address := p.Ref.Address()
	delete(t.probes, address)
	slot, accounts, err := t.deps.RPC.GetMultipleAccounts(ctx, keys, solana.AccountOptions{Commitment: solana.Confirmed})
	if err != nil {
		return err
	}
	known := &probe{slot: slot, at: t.deps.Now(), accounts: map[venue.Key]*solana.Account{}}
	for i, key := range keys {
		known.accounts[key] = accounts[i]
	}
	if len(t.probes) >= maxProbes {
		clear(t.probes)
	}
	t.probes[address] = known
	return nil
}

// firstAfter returns the signature of the first successful transaction after a slot that names an
// account; empty if there is none yet. whole is false if the server's list, which has maxSignatures
// at most, does not reach back to the slot: then the first transaction may be missing.
func (t *Trust) firstAfter(ctx context.Context, address venue.Key, slot uint64) (signature string, whole bool, err error) {
	var list []struct {
		Signature string `json:"signature"`
		Slot      uint64 `json:"slot"`
		Err       any    `json:"err"`
	}
	options := map[string]any{"limit": maxSignatures, "commitment": solana.Confirmed}
	if err := t.deps.RPC.Call(ctx, "getSignaturesForAddress", []any{address.String(), options}, &list); err != nil {
		return "", false, err
	}
	if len(list) >= maxSignatures && list[len(list)-1].Slot > slot {
		return "", false, nil
	}
	for _, s := range slices.Backward(list) { // the newest stand first
		if s.Slot > slot && s.Err == nil {
			return s.Signature, true, nil
		}
	}
	return "", true, nil
}

// errUnknown is returned for a transaction that a server lists but does not have.
var errUnknown = errors.New("the server does not have a transaction that it listed")

func (t *Trust) fetch(ctx context.Context, signature string) (*Transaction, error) {
	var raw json.RawMessage
	options := map[string]any{"encoding": "base64", "commitment": solana.Confirmed, "maxSupportedTransactionVersion": txwire.Highest}
	if err := t.deps.RPC.Call(ctx, "getTransaction", []any{signature, options}, &raw); err != nil {
		return nil, err
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil, errUnknown
	}
	return parseAnswer(raw)
}
