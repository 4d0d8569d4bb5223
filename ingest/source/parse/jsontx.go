package parse

import (
	"encoding/base64"
	"fmt"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/jsonwalk"
)

// jsonWholeEntry parses {transaction, meta, version} at r. If the members have this order, which is
// that of nodes, and the transaction is in base64 or base58, one pass is enough. Otherwise the pass
// only notes the places of the members, and jsonEntry parses them.
func (b *builder) jsonWholeEntry(tx *chain.Transaction, r *jsonwalk.Reader) error {
	var m message
	var version jsonwalk.Reader
	var hasBody, hasMeta, hasVersion, recorded bool
	again := false // one pass is not enough
	var places entryPlaces
	err := r.Object(func(key []byte) (err error) {
		places.note(string(key), r)
		switch string(key) {
		case "transaction":
			again = again || hasBody || r.Peek() != '[' && r.Peek() != '"'
			if !again {
				hasBody = true
				m, _, err = b.jsonBody(tx, r)
				return err
			}
		case "meta":
			again = again || hasMeta || !hasBody || r.Peek() != '{'
			if !again {
				hasMeta = true
				tx.Vote = isVote(tx, m.signatures, m.versioned)
				if _, recorded, err = b.jsonMeta(tx, r, m, true); err != nil {
					err = fmt.Errorf("meta: %w", err)
				}
				return err
			}
		case "version":
			again = again || hasVersion
			hasVersion, version = true, *r
		}
		return r.Skip()
	})
	switch {
	case err != nil:
		return err
	case again || !hasBody || !hasMeta:
		*tx = chain.Transaction{Index: tx.Index}
		return b.jsonEntry(tx, places.fields())
	case hasVersion:
		if err := b.jsonVersion(&version, &m); err != nil {
			return err
		}
		tx.Vote = tx.Vote && !m.versioned
	}
	b.innerUnknown = b.innerUnknown || !recorded && !tx.Failed && !tx.Vote
	drop(tx)
	return nil
}

// entryPlaces are the places of an entry's values, by the indexes of entryNames. jsonWholeEntry
// notes them in its pass, so that no other pass has to gather them.
type entryPlaces struct {
	at   [3]jsonwalk.Reader
	have [3]bool
}

var entryNames = [3]string{"transaction", "meta", "version"}

// note keeps the place of the value at r, unless it is null.
func (p *entryPlaces) note(key string, r *jsonwalk.Reader) {
	for i, name := range entryNames {
		if key == name && r.Peek() != 'n' {
			p.at[i], p.have[i] = *r, true
		}
	}
}

func (p *entryPlaces) fields() fields {
	f := make(fields, len(entryNames))
	for i, name := range entryNames {
		if p.have[i] {
			f[name] = p.at[i]
		}
	}
	return f
}

// jsonVersion reads the version: null, a number, or the string "legacy". It returns an error if the
// version is not to be read.
func (b *builder) jsonVersion(r *jsonwalk.Reader, m *message) error {
	if c := r.Peek(); c == '"' || c == 'n' {
		return nil
	}
	n, err := r.Uint64()
	if err != nil {
		return fmt.Errorf("version: %w", err)
	}
	switch {
	case int64(min(n, 255)) > int64(b.highest):
		return b.unknownVersion(n)
	case n > 0 && m.writable+m.readonly > 0:
		return malformed("version %d looks up addresses", n)
	}
	m.versioned = true
	return nil
}

// jsonEntry parses {transaction, meta, version}, whatever order they were in.
func (b *builder) jsonEntry(tx *chain.Transaction, f fields) error {
	body, ok := f["transaction"]
	if !ok {
		return malformed("entry without transaction")
	}
	m, outer, err := b.jsonBody(tx, &body)
	if err != nil {
		return err
	}
	meta, ok := f["meta"]
	if !ok {
		return because(ErrUnsupported, "no metadata: whether it failed and what it called is unknown")
	}
	inner, recorded, err := b.jsonMeta(tx, &meta, m, false)
	if err != nil {
		return fmt.Errorf("meta: %w", err)
	}
	if outer != nil { // read now, because parsed instructions may name any key, also a loaded one
		if err := b.jsonOuter(tx, outer); err != nil {
			return fmt.Errorf("instructions: %w", err)
		}
	}
	if version, ok := f["version"]; ok {
		if err := b.jsonVersion(&version, &m); err != nil {
			return err
		}
	}
	tx.Vote = isVote(tx, m.signatures, m.versioned)
	b.innerUnknown = b.innerUnknown || !recorded && !tx.Failed && !tx.Vote
	if recorded && !tx.Failed && !tx.Vote {
		if err := b.jsonInner(tx, inner); err != nil {
			return fmt.Errorf("meta: innerInstructions: %w", err)
		}
	}
	drop(tx)
	return nil
}

// jsonBody parses the transaction value in any encoding. For the JSON encodings, outer is the place
// of the instructions, which are not read yet.
func (b *builder) jsonBody(tx *chain.Transaction, r *jsonwalk.Reader) (m message, outer *jsonwalk.Reader, err error) {
	switch r.Peek() {
	case '{':
		return b.jsonTransaction(tx, r)
	case '"': // the oldest form: a text that is base58
		text, err := r.String()
		if err != nil {
			return m, nil, err
		}
		m, err = b.encoded(tx, text, "base58")
		return m, nil, err
	}
	var parts [2][]byte
	if err := r.Array(func(i int) (err error) {
		if i >= len(parts) {
			return malformed("transaction has more than data and encoding")
		}
		parts[i], err = r.String()
		return err
	}); err != nil {
		return m, nil, err
	}
	m, err = b.encoded(tx, parts[0], string(parts[1]))
	return m, nil, err
}

// encoded parses a transaction in base64 or base58.
func (b *builder) encoded(tx *chain.Transaction, text []byte, encoding string) (m message, err error) {
	var data []byte
	switch encoding {
	case "base64":
		decoded := b.bytes.take(base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Decode(decoded, text)
		if err != nil {
			return m, malformed("transaction is no base64: %v", err)
		}
		data = decoded[:n]
	case "base58":
		if data, err = b.base58Bytes(text); err != nil {
			return m, fmt.Errorf("transaction: %w", err)
		}
	default:
		return m, because(ErrUnsupported, "transaction encoding %.20q", encoding)
	}
	return b.wireTransaction(tx, data)
}

func (b *builder) base58Bytes(text []byte) ([]byte, error) {
	if len(text) > maxData {
		return nil, malformed("base58 of %d bytes, at most %d", len(text), maxData)
	}
	data, err := decodeBase58(text)
	if err != nil {
		return nil, malformed("no base58: %.60q", text)
	}
	return b.bytes.copyOf(data), nil
}

// jsonTransaction parses the json and jsonParsed encodings, except the instructions.
func (b *builder) jsonTransaction(tx *chain.Transaction, r *jsonwalk.Reader) (m message, outer *jsonwalk.Reader, err error) {
	f, err := gather(r, "signatures", "message", "accountKeys")
	if err != nil {
		return m, nil, err
	}
	body, ok := f["message"]
	if !ok {
		return m, nil, because(ErrUnsupported, "transaction without message (transactionDetails must be full)")
	}
	signatures := f["signatures"]
	if err := signatures.Array(func(i int) (err error) {
		m.signatures++
		text, err := signatures.String()
		if err == nil && i == 0 {
			tx.Signature, err = decodeSignature(text)
		}
		return err
	}); err != nil || m.signatures == 0 {
		return m, nil, fmt.Errorf("signatures: %w", orMalformed(err, "none"))
	}
	if f, err = gather(&body, "accountKeys", "instructions", "addressTableLookups"); err != nil {
		return m, nil, fmt.Errorf("message: %w", err)
	}
	keys := f["accountKeys"]
	if err := b.jsonKeys(tx, &keys, &m); err != nil {
		return m, nil, fmt.Errorf("accountKeys: %w", err)
	}
	if lookups, ok := f["addressTableLookups"]; ok {
		m.versioned, m.hasLookups = true, true
		if err := jsonLookups(&lookups, &m); err != nil {
			return m, nil, fmt.Errorf("addressTableLookups: %w", err)
		}
	}
	instructions, ok := f["instructions"]
	if !ok {
		return m, nil, malformed("message without instructions")
	}
	return m, &instructions, nil
}

// orMalformed returns err, or a malformed error with the text what if err is nil.
func orMalformed(err error, what string) error {
	if err != nil {
		return err
	}
	return malformed("%s", what)
}

// jsonKeys reads account keys. They are strings. In jsonParsed they are objects, and include the
// keys loaded from lookup tables.
func (b *builder) jsonKeys(tx *chain.Transaction, r *jsonwalk.Reader, m *message) error {
	var keys [maxKeys]pubkey.Key
	n := 0
	err := r.Array(func(i int) error {
		if i >= maxKeys {
			return malformed("more than %d", maxKeys)
		}
		n++
		if r.Peek() == '"' {
			return jsonKey(r, &keys[i])
		}
		f, err := gather(r, "pubkey", "source")
		if err != nil {
			return err
		}
		if source, ok := f["source"]; ok {
			text, err := source.String()
			if err != nil {
				return err
			}
			m.allKeys = m.allKeys || string(text) == "lookupTable"
		}
		pubkey := f["pubkey"]
		return jsonKey(&pubkey, &keys[i])
	})
	tx.Keys = b.keys.copyOf(keys[:n])
	return err
}

func jsonKey(r *jsonwalk.Reader, key *pubkey.Key) error {
	text, err := r.String()
	if err != nil {
		return err
	}
	*key, err = decodeKey(text)
	return err
}

// jsonLookups counts the addresses that the message looks up in tables.
func jsonLookups(r *jsonwalk.Reader, m *message) error {
	return r.Array(func(int) error {
		f, err := gather(r, "writableIndexes", "readonlyIndexes")
		if err != nil {
			return err
		}
		for name, count := range map[string]*int{"writableIndexes": &m.writable, "readonlyIndexes": &m.readonly} {
			if list, ok := f[name]; ok {
				if err := list.Array(func(int) error { *count++; return list.Skip() }); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// jsonOuter reads the outer instructions of the json and jsonParsed encodings.
func (b *builder) jsonOuter(tx *chain.Transaction, r *jsonwalk.Reader) error {
	b.scratch = b.scratch[:0]
	if err := b.jsonCalls(tx, r, maxInstructions); err != nil {
		return err
	}
	tx.Instructions = b.outer.take(len(b.scratch))
	for i, call := range b.scratch {
		call.StackHeight = 1
		tx.Instructions[i].Call = call
	}
	return nil
}

// jsonInner reads innerInstructions and joins them to their outer instructions.
func (b *builder) jsonInner(tx *chain.Transaction, r *jsonwalk.Reader) error {
	b.scratch, b.groups = b.scratch[:0], b.groups[:0]
	err := r.Array(func(int) error {
		if len(b.groups) >= maxInstructions {
			return malformed("more than %d lists", maxInstructions)
		}
		g := innerGroup{from: len(b.scratch)}
		var hasIndex, hasList bool
		err := r.Object(func(key []byte) (err error) {
			switch {
			case string(key) == "index" && !hasIndex:
				hasIndex = true
				if g.index, err = r.Uint64(); err != nil {
					err = fmt.Errorf("index: %w", err)
				}
				return err
			case string(key) == "instructions" && !hasList:
				hasList = true
				return b.jsonCalls(tx, r, maxInner)
			}
			return r.Skip()
		})
		if err != nil || !hasIndex || !hasList {
			return fmt.Errorf("of instruction %d: %w", g.index, orMalformed(err, "without index or list"))
		}
		g.to = len(b.scratch)
		b.groups = append(b.groups, g)
		return nil
	})
	if err != nil {
		return err
	}
	return b.joinInner(tx)
}

// jsonCalls appends a list of instructions to scratch, which may have at most most calls.
func (b *builder) jsonCalls(tx *chain.Transaction, r *jsonwalk.Reader, most int) error {
	return r.Array(func(i int) error {
		if len(b.scratch) >= most {
			return malformed("more than %d", most)
		}
		call, err := b.jsonCall(tx, r)
		if err != nil {
			return fmt.Errorf("instruction %d: %w", i, err)
		}
		b.scratch = append(b.scratch, call)
		return nil
	})
}
