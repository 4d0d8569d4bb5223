package tokenlist

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// jsonList is the Solana token-list schema (solana-labs/token-list, src/schemas).
type jsonList struct {
	Name      string            `json:"name"`
	Timestamp string            `json:"timestamp"`
	Tokens    []json.RawMessage `json:"tokens"`
}

type jsonToken struct {
	ChainID    *int64                     `json:"chainId"`
	Address    string                     `json:"address"`
	Name       string                     `json:"name"`
	Symbol     string                     `json:"symbol"`
	Decimals   *int64                     `json:"decimals"`
	LogoURI    string                     `json:"logoURI"`
	Tags       []string                   `json:"tags"`
	Extensions map[string]json.RawMessage `json:"extensions"`
}

// json reads a list in the schema, or the bare list of its tokens.
func (c *collector) json(raw []byte) error {
	var file jsonList
	var err error
	if raw[0] == '[' {
		err = json.Unmarshal(raw, &file.Tokens)
	} else if err = json.Unmarshal(raw, &file); err == nil && file.Tokens == nil {
		err = errors.New("no tokens: the schema has them under \"tokens\"")
	}
	if err != nil {
		return err
	}
	c.list.Name = file.Name
	c.list.Version = unixOf(file.Timestamp)
	for i, raw := range file.Tokens {
		c.jsonToken(i+1, raw)
	}
	return nil
}

// jsonToken reads one token of the schema.
func (c *collector) jsonToken(place int, raw json.RawMessage) {
	var token jsonToken
	if err := json.Unmarshal(raw, &token); err != nil {
		c.refuse(place, err)
		return
	}
	if token.ChainID != nil && *token.ChainID != chainMainnet {
		c.list.OtherChains++
		return
	}
	entry := Entry{Name: token.Name, Symbol: token.Symbol, LogoURI: token.LogoURI, Tags: tagsOf(token.Tags), Extensions: extensionsOf(token.Extensions)}
	if d := token.Decimals; d != nil {
		if *d < 0 || *d > 255 {
			c.refuse(place, fmt.Errorf("decimals %d: must be 0 to 255", *d))
			return
		}
		decimals := uint8(*d)
		entry.Decimals = &decimals
	}
	c.add(place, token.Address, entry)
}

// unixOf parses the schema's timestamp; 0 if it is absent or in no form that lists use.
func unixOf(timestamp string) uint64 {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05-0700", time.DateTime, time.DateOnly} {
		if at, err := time.Parse(layout, timestamp); err == nil && at.Unix() > 0 {
			return uint64(at.Unix())
		}
	}
	return 0
}

// tagsOf returns the tags without duplicates, within their limits.
func tagsOf(tags []string) []string {
	var kept []string
	for _, tag := range tags {
		if tag = clip(tag, maxTag); tag != "" && len(kept) < maxTags && !slices.Contains(kept, tag) {
			kept = append(kept, tag)
		}
	}
	return kept
}

// extensionsOf keeps texts and numbers. Nested values are left out.
func extensionsOf(extensions map[string]json.RawMessage) map[string]string {
	kept := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(extensions)) {
		raw := extensions[name]
		var text string
		var number json.Number
		switch {
		case json.Unmarshal(raw, &text) == nil:
		case json.Unmarshal(raw, &number) == nil:
			text = number.String()
		default:
			continue
		}
		keep(kept, name, text)
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// keep adds an extension, cut to its limits, unless there are too many already.
func keep(kept map[string]string, name, text string) {
	name, text = clip(name, maxTag), clip(text, maxExtension)
	if name != "" && text != "" && len(kept) < maxExtensions {
		kept[name] = text
	}
}

// extensionPrefix marks the CSV columns that are extensions: extensions.website.
const extensionPrefix = "extensions."

// csvColumns maps the titles that are known, in lower case without underscores, to what they mean.
var csvColumns = map[string]string{
	"mint": "mint", "address": "mint", "name": "name", "symbol": "symbol", "decimals": "decimals",
	"logouri": "logo", "logourl": "logo", "logo": "logo", "image": "logo", "tags": "tags", "chainid": "chain",
}

// csv reads a table with a header; further columns are ignored. Tags are separated by semicolons or
// bars.
func (c *collector) csv(raw []byte) error {
	reader := csv.NewReader(bytes.NewReader(raw))
	reader.FieldsPerRecord = -1
	header, err := reader.Read()
	if err != nil {
		return fmt.Errorf("neither JSON nor CSV: %w", err)
	}
	columns := make([]string, len(header))
	for i, title := range header {
		title = strings.TrimSpace(title)
		if name, ok := strings.CutPrefix(title, extensionPrefix); ok {
			columns[i] = extensionPrefix + name
			continue
		}
		columns[i] = csvColumns[strings.ReplaceAll(strings.ToLower(title), "_", "")]
	}
	if !slices.Contains(columns, "mint") {
		return errors.New("neither JSON nor CSV with a header that names a column mint or address")
	}
	for place := 1; ; place++ {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil { // an open quote: nothing after it can be trusted
			return fmt.Errorf("token %d: %w", place, err)
		}
		c.csvRow(place, columns, row)
	}
}

// csvRow reads one token from a row; columns say what its values mean.
func (c *collector) csvRow(place int, columns, row []string) {
	var entry Entry
	var address string
	extensions := map[string]string{}
	for i, value := range row[:min(len(row), len(columns))] {
		value = strings.TrimSpace(value)
		switch column := columns[i]; column {
		case "mint":
			address = value
		case "name":
			entry.Name = value
		case "symbol":
			entry.Symbol = value
		case "logo":
			entry.LogoURI = value
		case "tags":
			entry.Tags = tagsOf(strings.FieldsFunc(value, func(r rune) bool { return r == ';' || r == '|' }))
		case "decimals":
			if value == "" {
				continue
			}
			d, err := strconv.ParseUint(value, 10, 8)
			if err != nil {
				c.refuse(place, fmt.Errorf("decimals %q: must be 0 to 255", clip(value, 20)))
				return
			}
			decimals := uint8(d)
			entry.Decimals = &decimals
		case "chain":
			if value != "" && value != strconv.Itoa(chainMainnet) {
				c.list.OtherChains++
				return
			}
		default:
			if name, ok := strings.CutPrefix(column, extensionPrefix); ok {
				keep(extensions, name, value)
			}
		}
	}
	if len(extensions) > 0 {
		entry.Extensions = extensions
	}
	c.add(place, address, entry)
}
