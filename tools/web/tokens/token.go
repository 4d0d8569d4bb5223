package main

import (
	"context"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/layout"
)

// Instructions of Metaplex Token Metadata: CreateMetadataAccountV3 and UpdateMetadataAccountV2.
const (
	metaplexCreate = 33
	metaplexUpdate = 15
)

// Fields of the token metadata interface's UpdateField. fieldKey is followed by the key of an
// additional one.
const (
	fieldName = iota
	fieldSymbol
	fieldURI
	fieldKey
)

// Discriminators of the token metadata interface.
var (
	metadataInitialize = layout.Discriminator("spl_token_metadata_interface:initialize_account")
	metadataUpdate     = layout.Discriminator("spl_token_metadata_interface:updating_field")
)

const decimals = 6

// room is how many bytes Token-2022 metadata may have here: rent is paid for them.
const room = 16 << 10

// token makes or renames one token, and returns its mint.
func (s *sender) token(ctx context.Context, t *Token) (string, error) {
	if t.Mint != "" {
		return t.Mint, s.rename(ctx, t)
	}
	mint, err := newKey()
	if err != nil {
		return "", err
	}
	address := mint.PublicKey().String()
	if t.Program == "token-2022" {
		return address, s.makeToken2022(ctx, mint, t)
	}
	return address, s.makeSPL(ctx, mint, t)
}

// makeSPL makes a mint of the first token program, with Metaplex metadata.
func (s *sender) makeSPL(ctx context.Context, mint solana.PrivateKey, t *Token) error {
	payer, at := chain.Key(s.payer.PublicKey()), chain.Key(mint.PublicKey())
	data := t.metaplex()
	create := append(data.Append([]byte{metaplexCreate}), 1, 0) // mutable; no collection details
	return s.send(ctx, []solana.PrivateKey{mint},
		createAccount(payer, at, layout.MintSize, layout.MintSize, chain.TokenProgram),
		call(chain.TokenProgram, layout.InitializeMint2(decimals, payer, nil), writable(at)),
		call(chain.MetaplexProgram, create, writable(chain.MetadataAddress(at)), readonly(at), signer(payer), signer(payer), readonly(payer), readonly(chain.SystemProgram)))
}

// makeToken2022 makes a mint whose metadata is its own. Texts that do not fit into the transaction
// that makes it are set one by one.
func (s *sender) makeToken2022(ctx context.Context, mint solana.PrivateKey, t *Token) error {
	payer, at := chain.Key(s.payer.PublicKey()), chain.Key(mint.PublicKey())
	const size = layout.ExtensionsAt + 4 + 64
	pointer := append([]byte{layout.TagMetadataPointer, layout.PointerTagInitialize}, layout.MetadataPointer(payer, at)...)
	texts := metadataInitialize[:]
	small := len(t.Name)+len(t.Symbol)+len(t.URI) <= 500
	for _, text := range [][]byte{t.Name, t.Symbol, t.URI} {
		if !small {
			text = nil
		}
		texts = layout.AppendString(texts[:len(texts):len(texts)], string(text))
	}
	err := s.send(ctx, []solana.PrivateKey{mint},
		createAccount(payer, at, size, size+room, chain.Token2022Program),
		call(chain.Token2022Program, pointer, writable(at)),
		call(chain.Token2022Program, layout.InitializeMint2(decimals, payer, nil), writable(at)),
		call(chain.Token2022Program, texts, writable(at), readonly(payer), readonly(at), signer(payer)))
	if err != nil {
		return err
	}
	if !small {
		if err := s.setTexts(ctx, at, s.payer, t); err != nil {
			return err
		}
	}
	for _, field := range t.Fields {
		if err := s.setField(ctx, at, s.payer, fieldKey, field[0], field[1]); err != nil {
			return err
		}
	}
	return nil
}

// rename changes the name and the symbol of a mint that exists, and with a URI that too.
func (s *sender) rename(ctx context.Context, t *Token) error {
	authority, err := s.wallet(t.Authority)
	if err != nil {
		return err
	}
	mint, err := solana.PublicKeyFromBase58(t.Mint)
	if err != nil {
		return err
	}
	at := chain.Key(mint)
	if t.Program == "token-2022" {
		return s.setTexts(ctx, at, authority, t)
	}
	data := t.metaplex()
	// The authority, the sale and the mutability stay.
	update := append(data.Append([]byte{metaplexUpdate, 1}), 0, 0, 0)
	return s.send(ctx, []solana.PrivateKey{authority},
		call(chain.MetaplexProgram, update, writable(chain.MetadataAddress(at)), signer(chain.Key(authority.PublicKey()))))
}

// setTexts sets name, symbol and URI of Token-2022 metadata, each in a transaction of its own.
func (s *sender) setTexts(ctx context.Context, mint chain.Key, authority solana.PrivateKey, t *Token) error {
	for field, text := range [][]byte{t.Name, t.Symbol, t.URI} {
		if err := s.setField(ctx, mint, authority, byte(field), nil, text); err != nil {
			return err
		}
	}
	return nil
}

func (s *sender) setField(ctx context.Context, mint chain.Key, authority solana.PrivateKey, field byte, key, value []byte) error {
	data := append(metadataUpdate[:len(metadataUpdate):len(metadataUpdate)], field)
	if field == fieldKey {
		data = layout.AppendString(data, string(key))
	}
	data = layout.AppendString(data, string(value))
	return s.send(ctx, []solana.PrivateKey{authority}, call(chain.Token2022Program, data, writable(mint), signer(chain.Key(authority.PublicKey()))))
}

func (t *Token) metaplex() layout.MetaplexData {
	return layout.MetaplexData{Name: string(t.Name), Symbol: string(t.Symbol), URI: string(t.URI)}
}

// createAccount pays the rent of paid bytes for an account of size bytes.
func createAccount(payer, at chain.Key, size, paid int, owner chain.Key) solana.Instruction {
	const createAccountTag = 0 // of the System program
	data := layout.AppendU64(layout.AppendU64([]byte{createAccountTag, 0, 0, 0}, chain.RentExempt(paid)), uint64(size))
	return call(chain.SystemProgram, append(data, owner[:]...), signer(payer), signer(at))
}

func call(program chain.Key, data []byte, accounts ...*solana.AccountMeta) solana.Instruction {
	return solana.NewInstruction(solana.PublicKey(program), accounts, data)
}

func writable(at chain.Key) *solana.AccountMeta {
	return &solana.AccountMeta{PublicKey: solana.PublicKey(at), IsWritable: true}
}

func readonly(at chain.Key) *solana.AccountMeta {
	return &solana.AccountMeta{PublicKey: solana.PublicKey(at)}
}

// signer is one that pays or changes as well.
func signer(at chain.Key) *solana.AccountMeta {
	return &solana.AccountMeta{PublicKey: solana.PublicKey(at), IsSigner: true, IsWritable: true}
}
