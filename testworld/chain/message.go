package chain

import (
	"fmt"

	"github.com/mintlake/mintlake/solana/txwire"
)

// AccountMeta names an account of an instruction and the rights that the instruction asks for.
type AccountMeta struct {
	Key      Key
	Signer   bool
	Writable bool
}

// Instruction is a call of a program before compilation.
type Instruction struct {
	Program  Key
	Accounts []AccountMeta
	Data     []byte
}

// CompiledInstruction refers to accounts by their index in the transaction's account list.
type CompiledInstruction struct {
	Program  uint8
	Accounts []byte
	Data     []byte
}

// Lookup takes addresses of one lookup table into a v0 message.
type Lookup struct {
	Table    Key
	Writable []byte
	Readonly []byte
}

// Message is a message of any version. Header is (required signatures, read-only signed, read-only
// unsigned).
type Message struct {
	Version txwire.Version
	Header  [3]uint8
	// Config is that of a version-1 message; no other has one.
	Config       txwire.Config
	Keys         []Key
	Blockhash    Hash
	Instructions []CompiledInstruction
	Lookups      []Lookup
	// The addresses that Lookups resolve to. They are not part of the wire form.
	LoadedWritable []Key
	LoadedReadonly []Key
}

// Table is an address lookup table that a message may use.
type Table struct {
	Key       Key
	Addresses []Key
}

type keyFlags struct {
	key              Key
	signer, writable bool
	program          bool
}

// compile orders the accounts as the runtime demands (payer, signers, then by writability) and
// packs the instructions. In a message of version 0, each account that neither signs nor is called
// is taken from the first table that has it.
func compile(payer Key, ixs []Instruction, version txwire.Version, tables []*Table, blockhash Hash) (Message, error) {
	flags := collect(payer, ixs)
	m := Message{Version: version, Blockhash: blockhash}
	loaded := make([]bool, len(flags))
	if version == txwire.V0 {
		m.lookUp(flags, loaded, tables)
	}
	order := func(signer, writable bool) uint8 {
		n := uint8(0)
		for i, f := range flags {
			if !loaded[i] && f.signer == signer && f.writable == writable {
				m.Keys = append(m.Keys, f.key)
				n++
			}
		}
		return n
	}
	m.Keys = make([]Key, 0, len(flags))
	ws := order(true, true)
	rs := order(true, false)
	order(false, true)
	ru := order(false, false)
	m.Header = [3]uint8{ws + rs, rs, ru}
	return m, m.pack(ixs)
}

// collect lists each key once, with all that any instruction asks of it: the payer first, then
// accounts, then programs.
func collect(payer Key, ixs []Instruction) []keyFlags {
	flags := make([]keyFlags, 1, 24)
	flags[0] = keyFlags{key: payer, signer: true, writable: true}
	add := func(k Key, signer, writable, program bool) {
		for i := range flags {
			if flags[i].key == k {
				flags[i].signer = flags[i].signer || signer
				flags[i].writable = flags[i].writable || writable
				flags[i].program = flags[i].program || program
				return
			}
		}
		flags = append(flags, keyFlags{key: k, signer: signer, writable: writable, program: program})
	}
	for i := range ixs {
		for _, a := range ixs[i].Accounts {
			add(a.Key, a.Signer, a.Writable, false)
		}
	}
	for i := range ixs {
		add(ixs[i].Program, false, false, true)
	}
	return flags
}

// lookUp loads from the tables each account that neither signs nor is a program, and marks it in
// loaded.
func (m *Message) lookUp(flags []keyFlags, loaded []bool, tables []*Table) {
	for _, t := range tables {
		l := Lookup{Table: t.Key}
		var w, r []Key
		for i, f := range flags {
			if loaded[i] || f.signer || f.program || f.key == t.Key {
				continue
			}
			at := indexOf(t.Addresses, f.key)
			if at < 0 {
				continue
			}
			loaded[i] = true
			if f.writable {
				l.Writable, w = append(l.Writable, byte(at)), append(w, f.key)
			} else {
				l.Readonly, r = append(l.Readonly, byte(at)), append(r, f.key)
			}
		}
		if len(w)+len(r) == 0 {
			continue
		}
		m.Lookups = append(m.Lookups, l)
		m.LoadedWritable = append(m.LoadedWritable, w...)
		m.LoadedReadonly = append(m.LoadedReadonly, r...)
	}
}

func indexOf(keys []Key, k Key) int {
	for i := range keys {
		if keys[i] == k {
			return i
		}
	}
	return -1
}

// index is the position of k in the transaction's account list: static keys, loaded writable,
// loaded read-only; -1 if absent.
func (m *Message) index(k Key) int {
	if i := indexOf(m.Keys, k); i >= 0 {
		return i
	}
	if i := indexOf(m.LoadedWritable, k); i >= 0 {
		return len(m.Keys) + i
	}
	if i := indexOf(m.LoadedReadonly, k); i >= 0 {
		return len(m.Keys) + len(m.LoadedWritable) + i
	}
	return -1
}

// pack writes the instructions, with accounts as positions in the account list.
func (m *Message) pack(ixs []Instruction) error {
	m.Instructions = make([]CompiledInstruction, len(ixs))
	for i := range ixs {
		c := CompiledInstruction{Data: ixs[i].Data, Accounts: make([]byte, len(ixs[i].Accounts))}
		p := indexOf(m.Keys, ixs[i].Program)
		if p < 0 {
			return fmt.Errorf("compile message: program %s is not a static key", ixs[i].Program)
		}
		c.Program = uint8(p)
		for j := range ixs[i].Accounts {
			at := m.index(ixs[i].Accounts[j].Key)
			if at < 0 || at > 255 {
				return fmt.Errorf("compile message: account %s is not among the keys", ixs[i].Accounts[j].Key)
			}
			c.Accounts[j] = byte(at)
		}
		m.Instructions[i] = c
	}
	return nil
}

// AccountKeys lists every account of the transaction in index order: static, loaded writable,
// loaded read-only.
func (m *Message) AccountKeys() []Key {
	out := make([]Key, 0, len(m.Keys)+len(m.LoadedWritable)+len(m.LoadedReadonly))
	out = append(out, m.Keys...)
	out = append(out, m.LoadedWritable...)
	return append(out, m.LoadedReadonly...)
}

// IsSigner returns whether account i signs the transaction.
func (m *Message) IsSigner(i int) bool { return i < int(m.Header[0]) }

// IsWritable returns whether account i is locked for writing.
func (m *Message) IsWritable(i int) bool {
	switch n := len(m.Keys); {
	case i < int(m.Header[0]):
		return i < int(m.Header[0])-int(m.Header[1])
	case i < n:
		return i < n-int(m.Header[2])
	default:
		return i < n+len(m.LoadedWritable)
	}
}

// Serialize gives the wire form that is signed. It panics if the format cannot have the message,
// which is a bug of who made it.
func (m *Message) Serialize() []byte {
	out, err := m.wire().AppendMessage(make([]byte, 0, 512))
	if err != nil {
		panic(fmt.Sprintf("chain: a message cannot be written: %v", err))
	}
	return out
}

// wire is the message as txwire has it. It shares its memory.
func (m *Message) wire() *txwire.Transaction {
	out := &txwire.Transaction{Version: m.Version, Header: txwire.Header{Signers: m.Header[0], ReadonlySigners: m.Header[1], ReadonlyOthers: m.Header[2]},
		Config: m.Config, Keys: make([][]byte, len(m.Keys)), Lifetime: m.Blockhash[:], Instructions: make([]txwire.Instruction, len(m.Instructions))}
	for i := range m.Keys {
		out.Keys[i] = m.Keys[i][:]
	}
	for i := range m.Instructions {
		out.Instructions[i] = txwire.Instruction(m.Instructions[i])
	}
	for i := range m.Lookups {
		l := &m.Lookups[i]
		out.Lookups = append(out.Lookups, txwire.Lookup{Table: l.Table[:], Writable: l.Writable, Readonly: l.Readonly})
	}
	return out
}

// MessageOf is the message of a transaction, without the addresses that its lookups load. It shares
// the transaction's memory.
func MessageOf(t *txwire.Transaction) Message {
	h := t.Header
	m := Message{Version: t.Version, Header: [3]uint8{h.Signers, h.ReadonlySigners, h.ReadonlyOthers}, Config: t.Config,
		Keys: make([]Key, len(t.Keys)), Blockhash: Hash(t.Lifetime), Instructions: make([]CompiledInstruction, len(t.Instructions))}
	for i := range t.Keys {
		m.Keys[i] = Key(t.Keys[i])
	}
	for i := range t.Instructions {
		m.Instructions[i] = CompiledInstruction(t.Instructions[i])
	}
	for i := range t.Lookups {
		l := &t.Lookups[i]
		m.Lookups = append(m.Lookups, Lookup{Table: Key(l.Table), Writable: l.Writable, Readonly: l.Readonly})
	}
	return m
}

// Mentions returns whether the transaction names the account, by lookup table or not.
func (m *Message) Mentions(k Key) bool { return m.index(k) >= 0 }
