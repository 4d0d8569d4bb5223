package registrytest

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// slotOf estimates the slot of a block time. It counts 400 ms a slot from slot 104,000,000 on
// 2021-11-01.
func slotOf(millis int64) uint64 { return 104_000_000 + uint64(max(millis-epochMillis, 0))/400 }

// factWriter collects the facts of one token. They must be added in the order in which a state
// holds them: by register and item.
type factWriter struct {
	mint  pubkey.Key
	facts []registry.Fact
}

func (w *factWriter) set(register registry.Register, position schemas.Position, value string) {
	w.item(register, "", position, value)
}

func (w *factWriter) item(register registry.Register, item string, position schemas.Position, value string) {
	w.facts = append(w.facts, registry.Fact{Mint: w.mint, Register: register, Item: item, Position: position, Value: value})
}

// AppendFacts appends the facts of a token to dst as State.Facts returns them: sorted by register
// and item, each pair once.
func (c *Corpus) AppendFacts(dst []registry.Fact, t *Token) []registry.Fact {
	r := t.random
	w := factWriter{t.Mint, dst}
	slot := slotOf(t.FirstSeen)
	// launch returns the position of an instruction in the transaction that launched the token.
	launch := func(instruction uint64) schemas.Position {
		return schemas.Position{Slot: slot, Order: (r.state>>50)<<40 | instruction<<28}
	}
	read := schemas.EndOfSlot(slot + uint64(r.below(2_000)) + 20)
	if t.kind == older {
		read = schemas.EndOfSlot(400_000_000 + uint64(r.below(1_000_000)))
	}
	program := schemas.ProgramToken
	if t.IsToken22 {
		program = schemas.ProgramToken2022
	}
	w.set(registry.RegisterProgram, read, program)
	w.set(registry.RegisterDecimals, read, strconv.Itoa(int(t.Decimals)))
	c.supply(&w, t, &r, read)
	switch {
	case t.kind == poolShare:
	case t.IsToken22:
		c.extended(&w, t, &r, read)
	default:
		at := launch(2)
		if t.kind == older {
			at = read
		}
		c.metaplex(&w, t, &r, at)
	}
	first := launch(1)
	w.set(registry.RegisterFirstSeen, first.Reverse(), strconv.FormatInt(t.FirstSeen, 10))
	last := t.FirstSeen + int64(r.below(7*86_400))*1000
	w.set(registry.RegisterLastSeen, schemas.Position{Slot: slotOf(last), Order: r.next() >> 24 << 28}, strconv.FormatInt(last/1000*1000, 10))
	w.set(registry.RegisterClosed, read, "false")
	return w.facts
}

// supply adds supply, mint authority and freeze authority.
func (c *Corpus) supply(w *factWriter, t *Token, r *random, read schemas.Position) {
	var mintAuthority, freezeAuthority string
	amount := uint64(1_000_000_000_000_000)
	switch t.kind {
	case poolShare:
		amount, mintAuthority = r.next()>>20, c.shared[r.below(len(c.shared))]
	case older:
		amount = r.next() >> uint(r.below(20))
		if r.below(3) == 0 {
			mintAuthority = r.address("")
		}
		if r.below(4) == 0 {
			freezeAuthority = r.address("")
		}
	case launched:
		if r.below(3) == 0 { // something was burned
			amount -= r.next() >> 16
		}
	}
	if t.Index < len(c.listed) {
		mintAuthority, freezeAuthority = c.listed[t.Index].MintAuthority, c.listed[t.Index].FreezeAuthority
	}
	w.set(registry.RegisterSupply, read, strconv.FormatUint(amount, 10))
	w.set(registry.RegisterMintAuthority, read, mintAuthority)
	w.set(registry.RegisterFreezeAuthority, read, freezeAuthority)
}

// metaplex adds the metadata of a token with a Metaplex account. Its update authority is the
// launchpad's, the same for all launched tokens, or an address of its own for older tokens.
func (c *Corpus) metaplex(w *factWriter, t *Token, r *random, at schemas.Position) {
	uri := r.uri()
	w.set(registry.RegisterMetaplexName, at, t.Name)
	w.set(registry.RegisterMetaplexSymbol, at, t.Symbol)
	w.set(registry.RegisterMetaplexURI, at, uri)
	authority := c.shared[0]
	if t.kind == older {
		authority = r.address("")
	}
	w.set(registry.RegisterMetaplexUpdateAuthority, at, authority)
	w.set(registry.RegisterSellerFeeBasisPoints, at, "0")
	if r.below(2) == 0 {
		w.set(registry.RegisterTokenStandard, at, "2") // Fungible
	}
	c.document(w, t, r, uri)
}

// extended adds the metadata and extensions of a Token-2022 token.
func (c *Corpus) extended(w *factWriter, t *Token, r *random, read schemas.Position) {
	uri := r.uri()
	w.set(registry.RegisterToken2022Name, read, t.Name)
	w.set(registry.RegisterToken2022Symbol, read, t.Symbol)
	w.set(registry.RegisterToken2022URI, read, uri)
	w.set(registry.RegisterToken2022UpdateAuthority, read, "")
	w.set(registry.RegisterMetadataPointer, read, t.Mint.String())
	w.item(registry.RegisterExtension, "metadata_pointer", read, "")
	w.item(registry.RegisterExtension, "metadata_pointer.authority", read, "")
	w.item(registry.RegisterExtension, "metadata_pointer.metadata_address", read, t.Mint.String())
	w.item(registry.RegisterExtension, "token_metadata", read, "")
	if r.below(20) == 0 {
		w.item(registry.RegisterExtension, "transfer_fee_config", read, "")
		w.item(registry.RegisterExtension, "transfer_fee_config.maximum_fee", read, strconv.FormatUint(r.next()>>10, 10))
		w.item(registry.RegisterExtension, "transfer_fee_config.transfer_fee_basis_points", read, strconv.Itoa(r.below(1_000)))
		w.item(registry.RegisterExtension, "transfer_fee_config.transfer_fee_config_authority", read, r.address(""))
	}
	c.document(w, t, r, uri)
}

// document adds the off-chain document of uri, for two tokens in five and for all listed ones. Half
// of the documents with an image get a logo check too.
func (c *Corpus) document(w *factWriter, t *Token, r *random, uri string) {
	if r.below(5) >= 2 && t.Index >= len(c.listed) {
		return
	}
	at := schemas.EndOfSlot(slotOf(t.FirstSeen) + 30 + uint64(r.below(9_000)))
	document := registry.Offchain{URI: uri, Name: t.Name, Symbol: t.Symbol, Image: r.uri(), Description: c.sentence(r)}
	if r.below(2) == 0 {
		handle := strings.ToLower(t.Symbol)
		document.ExternalURL = "https://pump.fun"
		document.Extensions = map[string]string{"twitter": "https://x.com/" + handle + strconv.Itoa(r.below(1000)), "website": "https://" + handle + ".fun"}
		if r.below(2) == 0 {
			document.Extensions["telegram"] = "https://t.me/" + handle
		}
	}
	if t.Index < len(c.listed) {
		l := &c.listed[t.Index]
		document.Image, document.Extensions = l.LogoURI, l.Links
	}
	value, err := json.Marshal(&document)
	if err != nil {
		panic(err) // strings always encode
	}
	w.set(registry.RegisterOffchain, at, string(value))
	if r.below(2) == 0 && document.Image != "" {
		logo, err := json.Marshal(&registry.Logo{URL: document.Image, Status: registry.LogoOK})
		if err != nil {
			panic(err)
		}
		w.set(registry.RegisterLogo, at, string(logo))
	}
}

func (c *Corpus) sentence(r *random) string {
	if r.below(4) == 0 {
		return ""
	}
	var b strings.Builder
	for range 3 + r.below(18) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.words[r.below(len(c.words))])
	}
	return b.String()
}

// uri makes a URI of metadata or an image. Half of them have an IPFS content identifier of version
// 0 (Qm...), a quarter one of version 1 (bafkrei...).
func (r *random) uri() string {
	switch r.below(8) {
	case 0, 1:
		var id [52]byte
		r.digits(id[:], "abcdefghijklmnopqrstuvwxyz234567")
		// The first and last characters hold fewer bits of the digest than the others.
		id[0], id[51] = "abcdefgh"[r.below(8)], "aeimquy4"[r.below(8)]
		return "https://ipfs.io/ipfs/bafkrei" + string(id[:])
	case 2:
		var id [43]byte
		r.digits(id[:], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
		id[42] = "AEIMQUYcgkosw048"[r.below(16)]
		return "https://arweave.net/" + string(id[:])
	case 3:
		var id [24]byte
		r.digits(id[:], "abcdefghijklmnopqrstuvwxyz0123456789")
		return "https://metadata.j7tracker.com/metadata/" + string(id[:16]) + ".json"
	default:
		var id [44]byte
		r.digits(id[:], base58Alphabet)
		id[0] = base58Alphabet[22+r.below(16)] // between the lowest and the highest digest
		prefix := "https://ipfs.io/ipfs/Qm"
		if r.below(4) == 0 {
			prefix = "https://cf-ipfs.com/ipfs/Qm"
		}
		return prefix + string(id[:])
	}
}
