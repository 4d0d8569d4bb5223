package snapshot

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Bounds of one page of a column. parquet-go makes room for what a page's header claims, and
// decompresses without a bound. An export's pages have some 256 KiB, and no more rows than a group.
const (
	maxPageBytes  = 64 << 20
	maxPageValues = 4 * rowGroupRows
)

var (
	errPage  = errors.New("a page is larger than exports write")
	errCodec = errors.New("compressed by another codec than exports use")
)

// checkPages returns an error unless each page of a Parquet file fits the bounds, also when it is
// decompressed. It reads the whole file and holds one page.
func checkPages(in io.ReaderAt, file *parquet.File) error {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPageBytes))
	if err != nil {
		return err
	}
	defer decoder.Close()
	for _, group := range file.Metadata().RowGroups {
		for i := range group.Columns {
			chunk := &group.Columns[i].MetaData
			begin := chunk.DataPageOffset
			if chunk.DictionaryPageOffset > 0 {
				begin = min(begin, chunk.DictionaryPageOffset)
			}
			if chunk.Codec != format.Zstd && chunk.Codec != format.Uncompressed {
				return fmt.Errorf("%w: %v", errCodec, chunk.Codec)
			}
			if begin < 0 || chunk.TotalCompressedSize < 0 {
				return errPage
			}
			pages := bufio.NewReader(io.NewSectionReader(in, begin, chunk.TotalCompressedSize))
			if err := checkChunk(pages, decoder, chunk.Codec == format.Zstd); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkChunk checks the pages of one column of a row group.
func checkChunk(pages *bufio.Reader, decoder *zstd.Decoder, compressed bool) error {
	var protocol thrift.CompactProtocol
	var packed, plain []byte
	for {
		if _, err := pages.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		var header format.PageHeader
		if err := thrift.NewDecoder(protocol.NewReader(pages)).Decode(&header); err != nil {
			return fmt.Errorf("page header: %w", err)
		}
		size, values, levels, isPacked := int(header.CompressedPageSize), header.DataPageHeader.V.NumValues, 0, compressed
		switch header.Type {
		case format.DictionaryPage:
			values = header.DictionaryPageHeader.V.NumValues
		case format.DataPageV2:
			v2 := &header.DataPageHeaderV2.V
			values, levels = v2.NumValues, int(v2.DefinitionLevelsByteLength)+int(v2.RepetitionLevelsByteLength)
			isPacked = compressed && (!v2.IsCompressed.Valid || v2.IsCompressed.V)
		case format.DataPage, format.IndexPage:
		}
		if size < 0 || size > maxPageBytes || header.UncompressedPageSize > maxPageBytes || values > maxPageValues || levels < 0 || levels > size {
			return fmt.Errorf("%w: %d bytes, %d decompressed, %d values", errPage, size, header.UncompressedPageSize, values)
		}
		if packed = packed[:0]; cap(packed) < size {
			packed = make([]byte, 0, size)
		}
		if _, err := io.ReadFull(pages, packed[:size]); err != nil {
			return fmt.Errorf("page: %w", err)
		}
		if !isPacked || size == levels {
			continue
		}
		var err error
		if plain, err = decoder.DecodeAll(packed[levels:size], plain[:0]); err != nil || len(plain)+levels > maxPageBytes {
			return fmt.Errorf("%w: %w", errPage, err)
		}
	}
}
