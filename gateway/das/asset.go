package das

import (
	"encoding/json"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// token is a row of the token API, with the fields that this package uses.
type token struct {
	Mint            pubkey.Key `json:"mint"`
	Symbol          string     `json:"symbol"`
	Name            string     `json:"name"`
	Decimals        uint8      `json:"decimals"`
	LogoURL         *string    `json:"logo_url"`
	IsToken22       bool       `json:"is_token22"`
	Supply          *string    `json:"supply"`
	MintAuthority   *string    `json:"mint_authority"`
	FreezeAuthority *string    `json:"freeze_authority"`
	MetaplexURI     *string    `json:"metaplex_uri"`
	UpdateAuthority *string    `json:"update_authority"`
	TokenStandard   *int64     `json:"token_standard"`
	Description     *string    `json:"description"`
	ExternalURL     *string    `json:"external_url"`
}

// asset has the shape of digital_asset_types/src/rpc/asset.rs in
// metaplex-foundation/digital-asset-rpc-infrastructure at f1a1ae6. interface, id, mutable and burnt
// are required; types of clients, such as Asset of the crate helius 3.1.0, demand ownership too.
// What else fungible tokens do not have (compression, print supply) and what the registry does not
// know (creators, grouping, royalty) is left out.
type asset struct {
	Interface   string      `json:"interface"`
	ID          pubkey.Key  `json:"id"`
	Content     *content    `json:"content,omitempty"`
	Authorities []authority `json:"authorities,omitempty"`
	Ownership   ownership   `json:"ownership"`
	Mutable     bool        `json:"mutable"`
	Burnt       bool        `json:"burnt"`
	TokenInfo   tokenInfo   `json:"token_info"`
}

type content struct {
	Schema   string   `json:"$schema"`
	JSONURI  string   `json:"json_uri"` // required; empty if there is none
	Files    []file   `json:"files,omitempty"`
	Metadata metadata `json:"metadata"`
	Links    *links   `json:"links,omitempty"`
}

type file struct {
	URI string `json:"uri"`
}

type metadata struct {
	Name          string  `json:"name,omitempty"`
	Symbol        string  `json:"symbol,omitempty"`
	Description   *string `json:"description,omitempty"`
	TokenStandard string  `json:"token_standard,omitempty"`
}

type links struct {
	Image       *string `json:"image,omitempty"`
	ExternalURL *string `json:"external_url,omitempty"`
}

type authority struct {
	Address string   `json:"address"`
	Scopes  []string `json:"scopes"`
}

// ownership says who owns a token. A fungible token has many holders, so Owner is empty, and Frozen
// and Delegated, which are about accounts, are false. If the call asked for the tokens of an owner,
// the fields are about that owner's accounts: see holding.asset.
type ownership struct {
	Frozen    bool   `json:"frozen"`
	Delegated bool   `json:"delegated"`
	Model     string `json:"ownership_model"`
	Owner     string `json:"owner"`
	// Delegate is set only if the call asked for the tokens of an owner, and the owner has a single
	// account of this token, with a delegate.
	Delegate string `json:"delegate,omitempty"`
}

type tokenInfo struct {
	// Balance is the sum of the raw amounts in the owner's accounts. It is empty if the call did
	// not ask for the tokens of an owner.
	Balance         json.Number `json:"balance,omitempty"`
	Supply          json.Number `json:"supply,omitempty"`
	Decimals        uint8       `json:"decimals"`
	TokenProgram    string      `json:"token_program"`
	MintAuthority   *string     `json:"mint_authority,omitempty"`
	FreezeAuthority *string     `json:"freeze_authority,omitempty"`
}

// contentSchema is the schema that the reference implementation names.
const contentSchema = "https://schema.metaplex.com/nft1.0.json"

// Values of TokenStandard in Metaplex's Token Metadata program.
const (
	standardFungibleAsset = 1
	standardFungible      = 2
)

// asset returns the token as an asset without an owner.
func (t *token) asset() *asset {
	a := &asset{
		Interface: "FungibleToken", ID: t.Mint, Content: t.content(), Ownership: ownership{Model: "token"},
		// The row does not say whether the metadata was declared immutable. But without an
		// authority nobody can change it.
		Mutable: t.UpdateAuthority != nil,
		TokenInfo: tokenInfo{
			Decimals: t.Decimals, TokenProgram: schemas.ProgramToken, MintAuthority: t.MintAuthority, FreezeAuthority: t.FreezeAuthority,
		},
	}
	if t.TokenStandard != nil && *t.TokenStandard == standardFungibleAsset {
		a.Interface = "FungibleAsset"
	}
	if t.IsToken22 {
		a.TokenInfo.TokenProgram = schemas.ProgramToken2022
	}
	if t.Supply != nil {
		a.TokenInfo.Supply = json.Number(*t.Supply)
	}
	if t.UpdateAuthority != nil {
		a.Authorities = []authority{{*t.UpdateAuthority, []string{"full"}}}
	}
	return a
}

// content returns the token's metadata; nil if it has none.
func (t *token) content() *content {
	c := &content{Schema: contentSchema, Metadata: metadata{Name: t.Name, Symbol: t.Symbol, Description: t.Description}}
	if t.TokenStandard != nil {
		switch *t.TokenStandard {
		case standardFungibleAsset:
			c.Metadata.TokenStandard = "FungibleAsset"
		case standardFungible:
			c.Metadata.TokenStandard = "Fungible"
		}
	}
	if t.MetaplexURI != nil {
		c.JSONURI = *t.MetaplexURI
	}
	if t.LogoURL != nil {
		c.Files = []file{{*t.LogoURL}}
	}
	if t.LogoURL != nil || t.ExternalURL != nil {
		c.Links = &links{t.LogoURL, t.ExternalURL}
	}
	if c.JSONURI == "" && c.Links == nil && c.Metadata == (metadata{}) {
		return nil
	}
	return c
}
