package validator

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Tables are the tables that a node makes of the balances in the log.
type Tables interface {
	// CatchUp returns once the tables have all balances that the log has at the time of the call.
	// While it waits, it calls tell with the number of records that are left.
	CatchUp(ctx context.Context, tell func(left int64)) error
	// OpenBefore calls see for each token account and owner for which the latest fact is from
	// before the end of a slot, and says that the account is open and belongs to the owner. The
	// owner is zero if it is not known.
	OpenBefore(ctx context.Context, slot uint64, see func(mint, account, owner pubkey.Key, amount uint64) error) error
}

// gonePlace is the place at which an account that the snapshot does not have, or has with another
// owner, is closed: after all transactions of the slot, and before what the snapshot has of the
// account, which is at MaxUint64. So the close ends what the old owner had, and nothing else.
const gonePlace = math.MaxUint64 - 1

// NeedsTables reports whether a run needs Deps.Tables. inLog says whether the log has balances now:
// a log without any knows of no account that could be gone. For a run that goes on it does not
// count, because the balances may be the run's own.
func NeedsTables(folder string, inLog bool) (bool, error) {
	var saved state
	if _, err := stateFileIn(folder).Load(&saved); err != nil {
		return false, err
	}
	switch {
	case saved.Phase == phaseDone:
		return false, nil
	case saved.Older != nil:
		return *saved.Older, nil
	}
	return inLog, nil
}

// errFound ends a search.
var errFound = errors.New("found")

// lookForOlder notes whether the tables have open accounts from before the end of the snapshot's
// slot. It comes before any token account is written, when the tables have little to catch up with.
func (l *Loader) lookForOlder(ctx context.Context) error {
	if l.state.Older != nil {
		if *l.state.Older && l.deps.Tables == nil {
			return errors.New("this run needs the tables of the node, as when it began")
		}
		return nil
	}
	older := false
	if l.deps.Tables != nil {
		if err := l.catchUp(ctx, stepHold); err != nil {
			return err
		}
		search, stop := context.WithCancel(ctx) // ends the query, which may have many more rows
		defer stop()
		err := l.deps.Tables.OpenBefore(search, l.state.Summary.Slot, func(mint, _, _ pubkey.Key, _ uint64) error {
			if !l.deps.Follow(mint) {
				return nil
			}
			older = true
			stop()
			return errFound
		})
		if err != nil && !older {
			return fmt.Errorf("look for accounts from before the snapshot: %w", err)
		}
	}
	l.state.Older = &older
	return l.file.Save(l.state)
}

// closeGone closes the accounts that the tables have and the snapshot does not, and ends what
// earlier owners have of accounts that changed their owner. That happened in blocks that were not
// seen. All that the snapshot has must be written: once the tables have it too, they have for each
// account in it a fact at the end of its slot or later. What is then still open from before is
// gone. A run that is stopped finds the rest when it goes on.
func (l *Loader) closeGone(ctx context.Context) error {
	if !*l.state.Older {
		return nil
	}
	if err := l.catchUp(ctx, stepClose); err != nil {
		return err
	}
	group, count := map[pubkey.Key][]*eventspb.BalanceChange{}, 0
	flush := func() error {
		if err := l.writeHoldings(ctx, group); err != nil {
			return err
		}
		l.state.Closed += int64(count)
		clear(group)
		count = 0
		l.tell(stepClose, 1, 2, fmt.Sprintf("closing accounts that are gone: %d so far", l.state.Closed))
		return l.file.Save(l.state)
	}
	err := l.deps.Tables.OpenBefore(ctx, l.state.Summary.Slot, func(mint, account, owner pubkey.Key, amount uint64) error {
		if !l.deps.Follow(mint) {
			return nil
		}
		before := &eventspb.BalanceState{Amount: amount}
		if !owner.IsZero() {
			before.Owner = owner.Bytes()
		}
		group[mint] = append(group[mint], &eventspb.BalanceChange{Place: gonePlace, Account: account.Bytes(), Before: before})
		if count++; count < heldGroup {
			return nil
		}
		return flush()
	})
	if err != nil {
		return fmt.Errorf("close accounts that are gone: %w", err)
	}
	return flush()
}

// catchUp waits until the tables have all balances that the log has now.
func (l *Loader) catchUp(ctx context.Context, s step) error {
	return l.deps.Tables.CatchUp(ctx, func(left int64) {
		l.tell(s, 0, 1, fmt.Sprintf("waiting until the node has stored the balances: %d records left", left))
	})
}
