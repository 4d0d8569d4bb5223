package validator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/mintlake/mintlake/bootstrap/validator/archive"
	"github.com/mintlake/mintlake/solana/lattice"
)

// readAll reads the archives that are not read yet: every version of an account goes to the spill
// and, hashed, to the sum; every fact to the stage.
func (l *Loader) readAll(ctx context.Context) error {
	for i, source := range l.sources {
		if l.state.Archives[i].Whole {
			continue
		}
		if err := l.readArchive(ctx, i, source); err != nil {
			return err
		}
	}
	return nil
}

// base returns the rank of the first storage of archive i, and the slot of the full snapshot below
// it, or 0.
func (l *Loader) base(i int) (rank uint32, slot uint64) {
	if i == 0 {
		return 0, 0
	}
	return uint32(l.state.Archives[0].Total), l.state.Archives[0].Slot
}

// openArchive opens an archive and checks its manifest. If an earlier run or pass has begun to read
// the archive, it must be the same one. The caller calls the returned func when it has read enough.
func (l *Loader) openArchive(i int, source *source) (*archive.Reader, func(), error) {
	file, err := source.open()
	if err != nil {
		return nil, nil, err
	}
	reader, err := archive.Open(file)
	if err != nil {
		_ = file.Close()
		return nil, nil, fmt.Errorf("%s: %w", source.name, err)
	}
	closeAll := func() {
		reader.Close()
		_ = file.Close()
	}
	m, noted := reader.Manifest(), &l.state.Archives[i]
	_, slot := l.base(i)
	if err = l.checkManifest(m, source.name, i > 0, slot); err == nil && i == len(l.sources)-1 {
		err = l.checkExpected(m)
	}
	if err == nil && noted.Hash != "" && (noted.Hash != base58(m.Hash) || noted.Total != len(m.Storages)) {
		err = fmt.Errorf("%s is not the archive that was begun: begin anew with --restart", source.name)
	}
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	noted.Hash, noted.Slot, noted.Total, noted.Size = base58(m.Hash), m.Slot, len(m.Storages), source.size()
	l.manifest = m
	return reader, closeAll, nil
}

func (l *Loader) readArchive(ctx context.Context, i int, source *source) error {
	reader, closeAll, err := l.openArchive(i, source)
	if err != nil {
		return err
	}
	defer closeAll()
	rank, _ := l.base(i)
	noted := &l.state.Archives[i]
	if need := int(rank) + noted.Total; len(l.state.Counts) < need {
		l.state.Counts = append(l.state.Counts, make([]uint32, need-len(l.state.Counts))...)
	}
	workers := newWorkers()
	saved := time.Now()
	p := &pass{reader: reader, base: rank, skip: noted.Storages, look: l.take}
	p.storage = func(rank, accounts uint32, pause func() error) error {
		l.state.Counts[rank] = accounts
		noted.Storages++
		l.tellRead(stepRead, i, source, "reading")
		if time.Since(saved) < l.checkpointEvery {
			return nil
		}
		if err := pause(); err != nil {
			return err
		}
		err := l.checkpoint(workers)
		saved = time.Now()
		return err
	}
	if err := p.run(ctx, workers); err != nil {
		return fmt.Errorf("%s: %w", source.name, err)
	}
	noted.Whole = true
	return l.checkpoint(workers)
}

// take looks at a chunk in the first pass: it adds every version of an account to the spill and to
// the worker's sum, and its fact to the stage.
func (l *Loader) take(w *worker, rank uint32, chunk *archive.Chunk) error {
	w.entries, w.facts, w.held = w.entries[:0], w.facts[:0], w.held[:0]
	facts, held := int64(0), int64(0)
	for place, account := range chunk.Accounts() {
		w.entries = append(w.entries, entry{account.Address, versionOf(rank, place, account.Lamports == 0)})
		if account.Lamports == 0 {
			continue
		}
		if !l.cfg.SkipHash {
			w.sum.Add(w.hasher.Account(account))
		}
		if l.stageHolding(w, rank, place, account) {
			held++
			continue
		}
		fact, skipped := l.deps.Extract(account)
		if skipped != "" {
			w.skipped[skipped]++
		}
		if fact == nil {
			continue
		}
		var err error
		if w.facts, err = appendFact(w.facts, rank, place, fact); err != nil {
			return err
		}
		facts++
	}
	l.items.Add(int64(chunk.Count))
	if err := l.spill.add(w.entries); err != nil {
		return err
	}
	if err := l.held.add(w.held, held); err != nil {
		return err
	}
	return l.stage.add(w.facts, facts)
}

// stageHolding stages an account if it is a token account of a followed mint, and reports whether
// it is.
func (l *Loader) stageHolding(w *worker, rank, place uint32, account *lattice.Account) bool {
	w.value = l.appendHolding(w.value[:0], account)
	if len(w.value) == 0 {
		return false
	}
	// The only error would be a length that is too long, and this one is fixed.
	w.held, _ = appendStaged(w.held, rank, place, func(out []byte) ([]byte, error) { return append(out, w.value...), nil })
	return true
}

// checkpoint writes to the progress file how far the reading is. The workers must not be at work.
// First it makes the spill and the staged facts durable, because the progress file must not be
// ahead of them.
func (l *Loader) checkpoint(workers []*worker) error {
	for _, w := range workers {
		l.sum.Add(&w.sum)
		w.sum = lattice.Hash{}
		for why, n := range w.skipped {
			l.state.Skipped[why] += n
		}
		clear(w.skipped)
	}
	if err := l.spill.flush(); err != nil {
		return err
	}
	if err := errors.Join(l.stage.flush(), l.held.flush()); err != nil {
		return err
	}
	sum := l.sum.Bytes()
	l.state.Sum, l.state.SpillBytes = sum[:], l.spill.bytes
	l.state.StagedBytes, l.state.StagedFacts = l.stage.bytes, l.stage.facts
	l.state.HeldBytes, l.state.HeldAccounts = l.held.bytes, l.held.facts
	return l.file.Save(l.state)
}

// findReplaced compares the versions in the spill, and returns those that are not the newest ones.
func (l *Loader) findReplaced(ctx context.Context) (*replaced, error) {
	r, err := newReplaced(l.state.Counts)
	if err != nil {
		return nil, err
	}
	total := l.spill.entries
	live, err := l.spill.compare(ctx, r.add, func(done int64) {
		l.tell(stepCompare, done, total, "comparing the accounts")
	})
	if err != nil {
		return nil, err
	}
	s := &l.state.Summary
	s.Versions, s.Replaced, s.Accounts = total, r.count, live
	s.SpillBytes, s.StagedBytes = l.spill.bytes, l.state.StagedBytes+l.state.HeldBytes
	s.Skipped = maps.Clone(l.state.Skipped)
	return r, nil
}

// check subtracts the hashes of replaced versions from the sum, and compares the sum with the
// manifest.
func (l *Loader) check(ctx context.Context, replaced *replaced) error {
	if l.manifest == nil { // everything was read by an earlier run
		last := len(l.sources) - 1
		_, closeAll, err := l.openArchive(last, l.sources[last])
		if err != nil {
			return err
		}
		closeAll()
	}
	last := l.manifest
	sum := l.sum
	if !l.cfg.SkipHash {
		for i, source := range l.sources {
			if err := l.takeOff(ctx, i, source, replaced, &sum); err != nil {
				return err
			}
		}
	}
	verdict, err := l.verdict(last.Lattice, &sum)
	if err != nil {
		return err
	}
	l.state.Summary.Slot, l.state.Summary.BankHash, l.state.Summary.Check = last.Slot, base58(last.Hash), verdict
	l.state.Phase = phasePublish
	return l.file.Save(l.state)
}

// takeOff reads an archive a second time, up to its last storage with replaced versions, and
// subtracts their hashes from the sum.
func (l *Loader) takeOff(ctx context.Context, i int, source *source, replaced *replaced, sum *lattice.Hash) error {
	rank, _ := l.base(i)
	count := l.state.Archives[i].Total
	left := 0
	for _, n := range replaced.perStorage[rank : int(rank)+count] {
		if n > 0 {
			left++
		}
	}
	if left == 0 {
		return nil
	}
	reader, closeAll, err := l.openArchive(i, source)
	if err != nil {
		return err
	}
	defer closeAll()
	p := &pass{reader: reader, base: rank, want: func(rank uint32) bool { return replaced.perStorage[rank] > 0 }}
	p.look = func(w *worker, rank uint32, chunk *archive.Chunk) error {
		for place, account := range chunk.Accounts() {
			// A file that was changed since the first pass may have more accounts.
			if place < l.state.Counts[rank] && replaced.has(rank, place) {
				w.sum.Add(w.hasher.Account(account))
			}
		}
		return nil
	}
	p.storage = func(_, _ uint32, pause func() error) error {
		l.tellRead(stepTakeOff, i, source, "taking older versions off the hash of")
		if left--; left > 0 {
			return nil
		}
		if err := pause(); err != nil {
			return err
		}
		return errEnough
	}
	workers := newWorkers()
	if err := p.run(ctx, workers); err != nil {
		return fmt.Errorf("%s: %w", source.name, err)
	}
	for _, w := range workers {
		sum.Sub(&w.sum)
	}
	return nil
}
