package registrytest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Listed is a token of a real list.
type Listed struct {
	Mint                  pubkey.Key
	Symbol, Name, LogoURI string
	Decimals              uint8
	// Volume is the daily volume in USD, 0 where the list does not say.
	Volume float64
	// Created is Unix milliseconds, 0 where the list does not say.
	Created                        int64
	Tags                           []string
	Links                          map[string]string
	MintAuthority, FreezeAuthority string
}

type listedJSON struct {
	Address         string         `json:"address"`
	Symbol          string         `json:"symbol"`
	Name            string         `json:"name"`
	Decimals        uint8          `json:"decimals"`
	LogoURI         string         `json:"logoURI"`
	Tags            []string       `json:"tags"`
	DailyVolume     float64        `json:"daily_volume"`
	MintedAt        string         `json:"minted_at"`
	FreezeAuthority string         `json:"freeze_authority"`
	MintAuthority   string         `json:"mint_authority"`
	Extensions      map[string]any `json:"extensions"`
}

// ReadLists reads verified_tokens.json and then solana.tokenlist.json in a folder. A mint in both
// is taken from the first. Entries without a valid mint are left out.
func ReadLists(folder string) ([]Listed, error) {
	var verified []listedJSON
	if err := readJSON(filepath.Join(folder, "verified_tokens.json"), &verified); err != nil {
		return nil, err
	}
	var community struct {
		Tokens []listedJSON `json:"tokens"`
	}
	if err := readJSON(filepath.Join(folder, "solana.tokenlist.json"), &community); err != nil {
		return nil, err
	}
	var listed []Listed
	seen := map[pubkey.Key]bool{}
	for _, raw := range append(verified, community.Tokens...) {
		key, err := pubkey.Parse(raw.Address)
		if err != nil || seen[key] {
			continue
		}
		seen[key] = true
		listed = append(listed, raw.listed(key))
	}
	return listed, nil
}

func (raw *listedJSON) listed(mint pubkey.Key) Listed {
	l := Listed{
		Mint: mint, Symbol: registry.Text([]byte(raw.Symbol)), Name: registry.Text([]byte(raw.Name)), LogoURI: raw.LogoURI, Decimals: raw.Decimals, Volume: raw.DailyVolume, Tags: raw.Tags,
		MintAuthority: raw.MintAuthority, FreezeAuthority: raw.FreezeAuthority, Links: map[string]string{},
	}
	if created, err := time.Parse(time.RFC3339, raw.MintedAt); err == nil {
		l.Created = created.UnixMilli()
	}
	for key, value := range raw.Extensions {
		if text, ok := value.(string); ok && len(text) < 200 {
			l.Links[key] = text
		}
	}
	return l
}

func readJSON(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read token list: %w", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read token list %s: %w", path, err)
	}
	return nil
}
