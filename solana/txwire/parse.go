package txwire

import "encoding/binary"

// First bytes of a transaction. A first byte below firstVersioned is the number of signatures. A
// transaction of version 1 begins with firstV1. In a transaction of version 0, firstVersioned
// begins the message, which is behind the signatures.
const (
	firstVersioned = 0x80
	firstV1        = firstVersioned | byte(V1)
)

// maxKeys is how many keys one byte can tell apart, those from lookup tables included.
const maxKeys = 256

// Parse reads a whole transaction. It refuses what no node accepts: bytes that are missing or left
// over, counts and indexes that contradict each other. It accepts what only the runtime's limits
// refuse, as these change: see CheckLimits. The transaction borrows data, and keeps its own slices
// for the next call. The error is ErrMalformed or a VersionError.
func (t *Transaction) Parse(data []byte) error {
	t.Reset()
	if len(data) == 0 {
		return malformed("no byte")
	}
	c := cursor{data: data}
	var err error
	switch first := data[0]; {
	case first < firstVersioned:
		err = t.parseOld(&c)
	case first == firstV1:
		t.parseV1(&c)
	case first == firstVersioned:
		return malformed("version 0 in place of the number of signatures")
	default:
		return &VersionError{first & 0x7f, Highest}
	}
	switch {
	case err != nil:
		return err
	case c.bad:
		return malformed("%d bytes are too few, or a length in them is no compact-u16", len(data))
	case len(c.data) > 0:
		return malformed("%d bytes follow", len(c.data))
	}
	return t.check()
}

// parseOld reads a transaction of legacy or version 0: signatures, then the message. If the bytes
// end too early, it sets c.bad and returns no error.
func (t *Transaction) parseOld(c *cursor) error {
	t.Signatures = c.chunks(t.Signatures, c.length(), SignatureSize)
	if len(c.data) > 0 && c.data[0] >= firstVersioned {
		switch v := c.byte() & 0x7f; {
		case v == 0:
			t.Version = V0
		case Version(v) <= Highest:
			return malformed("a message of version %d behind signatures", v)
		default:
			return &VersionError{v, Highest}
		}
	}
	t.Header = Header{c.byte(), c.byte(), c.byte()}
	t.Keys = c.chunks(t.Keys, c.length(), KeySize)
	t.Lifetime = c.take(KeySize)
	for range c.length() {
		t.Instructions = append(t.Instructions, Instruction{c.byte(), c.take(c.length()), c.take(c.length())})
		if c.bad {
			return nil
		}
	}
	if t.Version == Legacy {
		return nil
	}
	for range c.length() {
		t.Lookups = append(t.Lookups, Lookup{c.take(KeySize), c.take(c.length()), c.take(c.length())})
		if c.bad {
			return nil
		}
	}
	return nil
}

// parseV1 reads a transaction of version 1. Its signatures are at the end, without a count. If the
// bytes end too early or the config mask is wrong, it sets c.bad.
func (t *Transaction) parseV1(c *cursor) {
	t.Version = Version(c.byte() & 0x7f)
	t.Header = Header{c.byte(), c.byte(), c.byte()}
	mask := c.uint32()
	if fee := mask & maskFee; mask&^maskKnown != 0 || fee != 0 && fee != maskFee {
		c.bad = true
		return
	}
	t.Lifetime = c.take(KeySize)
	instructions, keys := int(c.byte()), int(c.byte())
	t.Keys = c.chunks(t.Keys, keys, KeySize)
	if mask&maskFee != 0 {
		if raw := c.take(8); raw != nil {
			fee := binary.LittleEndian.Uint64(raw)
			t.Config.PriorityFee = &fee
		}
	}
	t.Config.ComputeUnitLimit = c.uint32If(mask&maskUnits != 0)
	t.Config.LoadedAccountsDataSizeLimit = c.uint32If(mask&maskLoaded != 0)
	t.Config.HeapSize = c.uint32If(mask&maskHeap != 0)
	headers := c.take(instructions * 4)
	for ; len(headers) > 0; headers = headers[4:] {
		accounts, data := int(headers[1]), int(binary.LittleEndian.Uint16(headers[2:]))
		t.Instructions = append(t.Instructions, Instruction{headers[0], c.take(accounts), c.take(data)})
	}
	t.Signatures = c.chunks(t.Signatures, int(t.Header.Signers), SignatureSize)
}

// check refuses counts and indexes that contradict each other, as agave's sanitize does.
func (t *Transaction) check() error {
	h, keys, all := t.Header, len(t.Keys), len(t.Keys)+t.loaded()
	switch {
	case h.ReadonlySigners >= h.Signers:
		return malformed("%d signers, of whom %d are readonly: the first one must be writable, as it pays", h.Signers, h.ReadonlySigners)
	case keys < int(h.Signers)+int(h.ReadonlyOthers):
		return malformed("%d keys, but %d signers and %d readonly others", keys, h.Signers, h.ReadonlyOthers)
	case len(t.Signatures) != int(h.Signers):
		return malformed("%d signatures of %d signers", len(t.Signatures), h.Signers)
	case all > maxKeys:
		return malformed("%d accounts, at most %d", all, maxKeys)
	}
	for i := range t.Lookups {
		if l := &t.Lookups[i]; len(l.Writable)+len(l.Readonly) == 0 {
			return malformed("lookup %d takes no address", i)
		}
	}
	for i := range t.Instructions {
		ix := &t.Instructions[i]
		if ix.Program == 0 || int(ix.Program) >= keys {
			return malformed("instruction %d calls account %d: it must be one of keys 1 to %d", i, ix.Program, keys-1)
		}
		for _, account := range ix.Accounts {
			if int(account) >= all {
				return malformed("instruction %d names account %d of %d", i, account, all)
			}
		}
	}
	return nil
}
