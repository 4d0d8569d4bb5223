package parse

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// message is what a transaction's signed part says, apart from keys and instructions.
type message struct {
	signatures int
	versioned  bool
	// writable and readonly count the addresses that the message looks up. If hasLookups, the
	// metadata must list as many.
	writable, readonly int
	hasLookups         bool
	// allKeys means that the message itself lists the looked-up addresses (jsonParsed).
	allKeys bool
}

// cursor reads Solana's wire format. After the first failure, bad is true and every read returns
// zeros.
type cursor struct {
	data []byte
	bad  bool
}

func (c *cursor) take(n int) []byte {
	if c.bad || n > len(c.data) {
		c.bad = true
		return nil
	}
	out := c.data[:n:n]
	c.data = c.data[n:]
	return out
}

func (c *cursor) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

// length reads a compact-u16: seven bits in each byte, at most three bytes, at most 65,535.
func (c *cursor) length() int {
	n := 0
	for shift := 0; shift <= 14; shift += 7 {
		b := c.byte()
		n |= int(b&0x7f) << shift
		if b&0x80 == 0 {
			if n > 0xffff {
				c.bad = true
				return 0
			}
			return n
		}
	}
	c.bad = true
	return 0
}

// keys reads n 32-byte keys.
func (c *cursor) keys(b *builder, n int) []pubkey.Key {
	raw := c.take(n * 32)
	if raw == nil {
		return nil
	}
	out := b.keys.take(n)
	for i := range out {
		copy(out[i][:], raw[i*32:])
	}
	return out
}

// wireTransaction parses a serialised transaction, legacy or v0. It has a compact list of
// signatures and the message: a version byte (0x80 for v0; legacy has none), three header bytes, a
// compact list of keys, the recent blockhash, a compact list of instructions, and for v0 a compact
// list of lookups.
func (b *builder) wireTransaction(tx *chain.Transaction, data []byte) (m message, err error) {
	c := cursor{data: data}
	if len(data) > 0 && data[0]&0x80 != 0 && len(data) > 1 && data[0] >= 0x81 && data[0] < 0x90 {
		// A v1 transaction (SIMD-0385) begins with its version. A legacy one never has 128
		// signatures.
		return m, errVersion(data[0] & 0x7f)
	}
	m.signatures = c.length()
	sigs := c.take(m.signatures * 64)
	if len(sigs) < 64 {
		return m, malformed("transaction without a whole signature")
	}
	copy(tx.Signature[:], sigs)
	if len(c.data) > 0 && c.data[0]&0x80 != 0 {
		if v := c.byte() & 0x7f; v != 0 {
			return m, errVersion(v)
		}
		m.versioned = true
	}
	c.take(3) // the header is not needed
	n := c.length()
	if n > maxKeys {
		return m, malformed("%d account keys, at most %d", n, maxKeys)
	}
	tx.Keys = c.keys(b, n)
	c.take(32)
	if err := b.wireInstructions(tx, &c); err != nil {
		return m, err
	}
	if m.versioned {
		m.hasLookups = true
		for range c.length() {
			c.take(32)
			w := c.length()
			c.take(w)
			r := c.length()
			c.take(r)
			m.writable, m.readonly = m.writable+w, m.readonly+r
			if c.bad {
				break
			}
		}
	}
	if c.bad || len(c.data) > 0 {
		return m, malformed("transaction of %d bytes: cut short or followed by %d more", len(data), len(c.data))
	}
	return m, nil
}

func errVersion(v byte) error {
	return because(ErrUnsupported, "transaction version %d", v)
}

func (b *builder) wireInstructions(tx *chain.Transaction, c *cursor) error {
	n := c.length()
	if n > maxInstructions {
		return malformed("%d instructions, at most %d", n, maxInstructions)
	}
	if n*3 > len(c.data) { // program, two lengths: refuse before memory is taken
		return malformed("%d instructions in %d bytes", n, len(c.data))
	}
	tx.Instructions = b.outer.take(n)
	for i := range tx.Instructions {
		call := &tx.Instructions[i].Call
		call.ProgramIndex = int(c.byte())
		call.Accounts = c.take(c.length())
		call.Data = c.take(c.length())
		call.StackHeight = 1
	}
	if c.bad {
		return malformed("instructions are cut short")
	}
	return nil
}
