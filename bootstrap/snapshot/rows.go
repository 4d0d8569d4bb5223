package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// factRow is a row of facts-NNNN.parquet. The rows are sorted by mint, register and item over all
// these files. Slot and order are the two halves of the fact's position. Register has the numbers
// of registry.Register.
type factRow struct {
	Mint     string `parquet:"mint,dict"`
	Register uint32 `parquet:"register,dict"`
	Item     string `parquet:"item,dict"`
	Slot     uint64 `parquet:"slot"`
	Order    uint64 `parquet:"order"`
	Value    string `parquet:"value"`
}

func rowOf(fact *registry.Fact) factRow {
	return factRow{
		Mint: fact.Mint.String(), Register: uint32(fact.Register), Item: fact.Item,
		Slot: fact.Position.Slot, Order: fact.Position.Order, Value: fact.Value,
	}
}

// fact is the inverse of rowOf. It fails on a register that no export writes.
func (r *factRow) fact() (registry.Fact, error) {
	if r.Register == 0 || r.Register > 255 {
		return registry.Fact{}, fmt.Errorf("register %d: must be 1 to 255", r.Register)
	}
	mint, err := pubkey.Parse(r.Mint)
	if err != nil {
		return registry.Fact{}, fmt.Errorf("mint %q: %w", r.Mint, err)
	}
	return registry.Fact{
		Mint: mint, Register: registry.Register(r.Register), Item: r.Item,
		Position: schemas.Position{Slot: r.Slot, Order: r.Order}, Value: r.Value,
	}, nil
}

// tokenRow is a row of tokens.parquet: a member of the registry with the API's field names, for
// analysts. An import does not read it.
type tokenRow struct {
	Mint                 string  `parquet:"mint"`
	Symbol               string  `parquet:"symbol"`
	Name                 string  `parquet:"name"`
	Decimals             uint32  `parquet:"decimals,dict"`
	LogoURL              *string `parquet:"logo_url,optional"`
	LogoStatus           string  `parquet:"logo_status,dict"`
	IsToken22            bool    `parquet:"is_token22"`
	FirstSeenAt          *int64  `parquet:"first_seen_at,optional"`
	LastSeenAt           *int64  `parquet:"last_seen_at,optional"`
	Supply               *string `parquet:"supply,optional"`
	MintAuthority        *string `parquet:"mint_authority,optional"`
	FreezeAuthority      *string `parquet:"freeze_authority,optional"`
	MetaplexURI          *string `parquet:"metaplex_uri,optional"`
	UpdateAuthority      *string `parquet:"update_authority,optional"`
	SellerFeeBasisPoints *int64  `parquet:"seller_fee_basis_points,optional"`
	TokenStandard        *int64  `parquet:"token_standard,optional"`
	Description          *string `parquet:"description,optional"`
	ExternalURL          *string `parquet:"external_url,optional"`
	// Extensions is a list sorted by key and not a map: the library writes a Go map in any order,
	// and equal registries must give equal files.
	Extensions []pair   `parquet:"extensions,list"`
	Tags       []string `parquet:"tags,list"`

	Launchpad   *string `parquet:"launchpad,optional"`
	Creator     *string `parquet:"creator,optional"`
	GraduatedAt *int64  `parquet:"graduated_at,optional"`

	UIMultiplier       *float64 `parquet:"ui_multiplier,optional"`
	NextUIMultiplier   *float64 `parquet:"next_ui_multiplier,optional"`
	NextUIMultiplierAt *int64   `parquet:"next_ui_multiplier_at,optional"`
}

type pair struct {
	Key   string `parquet:"key"`
	Value string `parquet:"value"`
}

func tokenRowOf(t *registry.Token) tokenRow {
	var extensions []pair
	for _, key := range slices.Sorted(maps.Keys(t.Extensions)) {
		extensions = append(extensions, pair{key, t.Extensions[key]})
	}
	return tokenRow{
		Mint: t.Mint.String(), Symbol: t.Symbol, Name: t.Name, Decimals: uint32(t.Decimals), LogoURL: t.LogoURL, LogoStatus: t.LogoStatus,
		IsToken22: t.IsToken22, FirstSeenAt: t.FirstSeenAt, LastSeenAt: t.LastSeenAt, Supply: t.Supply, MintAuthority: t.MintAuthority,
		FreezeAuthority: t.FreezeAuthority, MetaplexURI: t.MetaplexURI, UpdateAuthority: t.UpdateAuthority,
		SellerFeeBasisPoints: t.SellerFeeBasisPoints, TokenStandard: t.TokenStandard, Description: t.Description,
		ExternalURL: t.ExternalURL, Extensions: extensions, Tags: t.Tags,
		Launchpad: t.Launchpad, Creator: t.Creator, GraduatedAt: t.GraduatedAt,
		UIMultiplier: t.UIMultiplier, NextUIMultiplier: t.NextUIMultiplier, NextUIMultiplierAt: t.NextUIMultiplierAt,
	}
}

// columns returns the columns of a row type, for the manifest.
func columns[Row any]() []Column {
	var list []Column
	for _, field := range parquet.SchemaOf(new(Row)).Fields() {
		text := "nested"
		if field.Leaf() {
			text = field.Type().String()
		}
		if field.Optional() {
			text += ", may be null"
		}
		list = append(list, Column{Name: field.Name(), Type: text})
	}
	return list
}

// rowGroupRows is the most rows of a row group, which a writer and a reader hold in memory.
const rowGroupRows = 100_000

// file writes a Parquet file and computes its hash.
type file[Row any] struct {
	name   string
	file   *os.File
	hash   hash.Hash
	writer *parquet.GenericWriter[Row]
	rows   int64
	buffer []Row
}

// createFile creates a Parquet file in a folder. All users may read the file.
func createFile[Row any](folder, name string) (*file[Row], error) {
	out, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) //nolint:gosec // made to be given away
	if err == nil {
		err = out.Chmod(0o644) // whatever the umask is
	}
	if err != nil {
		return nil, err
	}
	f := &file[Row]{name: name, file: out, hash: sha256.New()}
	f.writer = parquet.NewGenericWriter[Row](io.MultiWriter(out, f.hash),
		parquet.MaxRowsPerRowGroup(rowGroupRows), parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}), parquet.CreatedBy("mintlake", "", ""))
	return f, nil
}

// writeBuffer is how many rows are passed to the writer at once: a call costs more than a row.
const writeBuffer = 1024

func (f *file[Row]) write(row Row) error {
	f.buffer = append(f.buffer, row)
	f.rows++
	if len(f.buffer) < writeBuffer {
		return nil
	}
	return f.drain()
}

func (f *file[Row]) drain() error {
	_, err := f.writer.Write(f.buffer)
	clear(f.buffer)
	f.buffer = f.buffer[:0]
	if err != nil {
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	return nil
}

// close makes the file durable and describes it.
func (f *file[Row]) close(kind string) (File, error) {
	err := errors.Join(f.drain(), f.writer.Close(), f.file.Sync())
	size, seekErr := f.file.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, seekErr, f.file.Close()); err != nil {
		return File{}, fmt.Errorf("write %s: %w", f.name, err)
	}
	return File{Name: f.name, Kind: kind, Rows: f.rows, Bytes: size, SHA256: hex.EncodeToString(f.hash.Sum(nil))}, nil
}

// readRows calls each for the rows of a Parquet file, from row from on. It ends with the first
// error of each, which it returns unchanged. Faults of the file wrap ErrContent, also where the
// library panics.
func readRows[Row any](path string, from int64, each func(row *Row) error) (err error) {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	name := filepath.Base(path)
	defer func() {
		if trouble := recover(); trouble != nil {
			err = fmt.Errorf("%w: %s: %v", ErrContent, name, trouble)
		}
	}()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	opened, err := parquet.OpenFile(in, info.Size())
	if err == nil {
		err = checkPages(in, opened)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrContent, name, err)
	}
	reader := parquet.NewGenericReader[Row](opened)
	defer func() { _ = reader.Close() }()
	if err := reader.SeekToRow(from); err != nil {
		return fmt.Errorf("%w: %s: row %d: %w", ErrContent, name, from, err)
	}
	buffer := make([]Row, writeBuffer)
	for {
		clear(buffer)
		n, err := reader.Read(buffer)
		for i := range buffer[:n] {
			if err := each(&buffer[i]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrContent, name, err)
		}
	}
}
