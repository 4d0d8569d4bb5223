package main

import (
	"context"

	"github.com/gagliardetto/solana-go"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/layout"
)

const decimals = 6

// maxMetadata is how many bytes Token-2022 metadata may have here. The mint gets the rent for them
// when it is made.
const maxMetadata = 16 << 10

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
	return s.send(ctx, []solana.PrivateKey{mint},
		chain.CreateAccount(payer, at, chain.RentExempt(layout.MintSize), layout.MintSize, chain.TokenProgram),
		chain.InitializeMint(chain.TokenProgram, at, decimals, payer, nil),
		chain.CreateMetaplex(chain.MetadataAddress(at), at, payer, payer, payer, t.metaplex(), true))
}

// makeToken2022 makes a mint whose metadata is its own. Texts that do not fit into the transaction
// that makes it are set one by one.
func (s *sender) makeToken2022(ctx context.Context, mint solana.PrivateKey, t *Token) error {
	payer, at := chain.Key(s.payer.PublicKey()), chain.Key(mint.PublicKey())
	const size = layout.ExtensionsAt + 4 + 64
	small := len(t.Name)+len(t.Symbol)+len(t.URI) <= 500
	var texts Token
	if small {
		texts = *t
	}
	err := s.send(ctx, []solana.PrivateKey{mint},
		chain.CreateAccount(payer, at, chain.RentExempt(size+maxMetadata), size, chain.Token2022Program),
		chain.InitializePointer(at, payer, at),
		chain.InitializeMint(chain.Token2022Program, at, decimals, payer, nil),
		chain.InitializeMetadata(at, payer, payer, string(texts.Name), string(texts.Symbol), string(texts.URI)))
	if err != nil {
		return err
	}
	if !small {
		if err := s.setTexts(ctx, at, s.payer, t); err != nil {
			return err
		}
	}
	for _, field := range t.Fields {
		if err := s.setField(ctx, at, s.payer, chain.FieldKey, field[0], field[1]); err != nil {
			return err
		}
	}
	return nil
}

// rename changes the name, the symbol and the URI of a mint that exists.
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
	return s.send(ctx, []solana.PrivateKey{authority},
		chain.UpdateMetaplex(chain.MetadataAddress(at), chain.Key(authority.PublicKey()), &data, nil, false))
}

// setTexts sets name, symbol and URI of Token-2022 metadata, each in a transaction of its own.
func (s *sender) setTexts(ctx context.Context, mint chain.Key, authority solana.PrivateKey, t *Token) error {
	for field, text := range [][]byte{chain.FieldName: t.Name, chain.FieldSymbol: t.Symbol, chain.FieldURI: t.URI} {
		if err := s.setField(ctx, mint, authority, byte(field), nil, text); err != nil {
			return err
		}
	}
	return nil
}

func (s *sender) setField(ctx context.Context, mint chain.Key, authority solana.PrivateKey, field byte, key, value []byte) error {
	return s.send(ctx, []solana.PrivateKey{authority}, chain.UpdateField(mint, chain.Key(authority.PublicKey()), field, string(key), string(value)))
}

func (t *Token) metaplex() layout.MetaplexData {
	return layout.MetaplexData{Name: string(t.Name), Symbol: string(t.Symbol), URI: string(t.URI)}
}
