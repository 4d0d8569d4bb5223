package state

import "slices"

// bankOf returns the bank of a slot to which an update belongs, and makes it if it is not known. id
// is 0 if the server tells none.
func (f *Fold) bankOf(s *slot, id uint64) (b *bank) {
	if id == 0 {
		b = s.latest()
	} else {
		b = s.find(id)
	}
	if b == nil {
		b = f.add(s, id)
		switch {
		case len(s.banks) == 1:
			s.current, b.dead = b, s.dead
		case s.current != nil && s.current.dead:
			s.current = b
		case s.current != nil && !s.current.announced:
			s.current = nil // nobody knows which of the two is to be quoted
		}
	}
	return b
}

// add adds a bank to a slot. If the slot now has several banks, one of them without an id, their
// writes cannot be told apart.
func (f *Fold) add(s *slot, id uint64) *bank {
	b := &bank{slot: s, id: id}
	if s.banks = append(s.banks, b); len(s.banks) == 1 {
		return b
	}
	f.tree.count++
	if len(s.banks) > maxBanks {
		f.evict(s)
	}
	s.mixed = s.mixed || slices.ContainsFunc(s.banks, func(b *bank) bool { return b.id == 0 })
	for _, other := range s.banks {
		if other.id == 0 {
			f.each(other, func(h *history) { h.remove(other); f.blur(h, s.number) })
			other.keys, other.writes = nil, nil
		}
	}
	return b
}

// evict forgets the oldest bank of a slot that is neither confirmed nor quoted.
func (f *Fold) evict(s *slot) {
	i := slices.IndexFunc(s.banks, func(b *bank) bool { return b != s.named && b != s.current })
	b := s.banks[i]
	f.each(b, func(h *history) { h.remove(b); f.change(h) })
	b.complete, b.keys, b.writes = false, nil, nil
	s.banks = slices.Delete(s.banks, i, i+1)
	f.tree.count--
}

// blur records that nobody knows what a slot left in an account. It must be read again at that slot
// or later, if no later slot writes it.
func (f *Fold) blur(h *history, number uint64) {
	if h.since < number { // never is greater than any slot, and stays
		h.since = number
	}
	f.change(h)
}

// Created records that a bank of a slot was created. It returns whether the slot had another bank.
// That bank is set aside, with all banks that follow it, until a status says that it is confirmed.
func (f *Fold) Created(number, parent, id uint64) (again bool) {
	s := f.tree.at(number)
	if s == nil {
		return false
	}
	var b *bank
	switch {
	case id != 0:
		b = s.find(id)
	case len(s.banks) == 1 && !s.banks[0].announced && !s.banks[0].complete && !s.banks[0].dead:
		b = s.banks[0]
	}
	if b == nil {
		b = f.add(s, id)
	}
	if b.announced {
		return false // the status came twice
	}
	b.announced = true
	if !b.complete {
		f.tree.follow(b, parent)
	}
	if (s.named == nil || s.named == b) && !b.aside {
		if s.current != nil && s.current != b {
			s.current.aside = true
		}
		s.current, s.dead = b, false
	}
	f.choose()
	return len(s.banks) > 1
}

// Dead records that a slot is dead: all its banks that are known become dead. Another bank of the
// slot, or its confirmation, brings it back.
func (f *Fold) Dead(number uint64) {
	s := f.tree.at(number)
	if s == nil || s.confirmed {
		return
	}
	s.dead = true
	for _, b := range s.banks {
		b.dead = true
	}
	f.choose()
}

// Confirmed records that a slot is confirmed, and with it all slots below it on its fork. Forks
// without it are excluded. id is the id of its bank; 0 if none is told. The state begins with the
// first slot that is confirmed and whose block is complete.
func (f *Fold) Confirmed(number, id uint64) {
	f.confirmed = max(f.confirmed, number)
	if s := f.confirm(number, id); s != nil {
		f.begin(s)
		f.choose()
	}
}

// Finalized records that a slot is final, and with it all slots before it on its fork.
func (f *Fold) Finalized(number, id uint64) {
	f.confirmed = max(f.confirmed, number)
	if s := f.confirm(number, id); s != nil {
		s.final = true
		f.begin(s)
		f.choose()
	}
}

// confirm names the confirmed bank of a slot. If that is not certain, it leaves it to the slot's
// next block. It returns nil for a slot that is not kept. Nothing confirmed is ever given up for
// another bank.
func (f *Fold) confirm(number, id uint64) *slot {
	s := f.tree.at(number)
	if s == nil {
		return nil
	}
	switch {
	case s.named != nil && (!s.guessed || id == 0):
	case id != 0 && (!s.mixed || slices.ContainsFunc(s.banks, func(b *bank) bool { return b.id == id })):
		s.name(f.bankOf(s, id), false)
	case len(s.banks) == 1:
		s.name(s.banks[0], false)
	case s.current != nil && s.current.complete:
		s.name(s.current, true)
	}
	s.confirmed, s.dead = true, false
	return s
}

// begin begins the state with a slot, if it is the first that is confirmed and complete.
func (f *Fold) begin(s *slot) {
	if b := s.named; !f.tree.started && b != nil && b.complete {
		f.drop(f.tree.start(b))
	}
}

// Disconnected forgets what is not final, because the next connection, perhaps to another node,
// tells it again from the root on. The bank ids of this connection mean nothing there.
func (f *Fold) Disconnected() {
	for _, b := range f.tree.disconnect() {
		f.each(b, func(h *history) { h.remove(b); f.change(h) })
	}
	f.choose()
}
