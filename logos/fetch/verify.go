package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/mr-tron/base58"
)

// Multicodec numbers: https://github.com/multiformats/multicodec/blob/master/table.csv
const (
	codecRaw   = 0x55
	codecDagPB = 0x70
	hashSHA256 = 0x12
)

// contentID has the parts of a CID that a body can be checked with.
type contentID struct {
	codec  uint64
	digest [sha256.Size]byte
}

// parseCID returns false if text is not a CID, or is one that cannot be checked: its hash is not
// SHA-256, or is truncated.
func parseCID(text string) (contentID, bool) {
	raw, ok := decodeCID(text)
	if !ok {
		return contentID{}, false
	}
	id := contentID{codec: codecDagPB}
	if !isV0(text) {
		version, n := binary.Uvarint(raw)
		codec, m := binary.Uvarint(raw[max(n, 0):])
		if version != 1 || n <= 0 || m <= 0 {
			return contentID{}, false
		}
		id.codec, raw = codec, raw[n+m:]
	}
	if len(raw) != 2+sha256.Size || raw[0] != hashSHA256 || raw[1] != sha256.Size {
		return contentID{}, false
	}
	id.digest = [sha256.Size]byte(raw[2:])
	return id, true
}

// decodeCID returns the bytes of a CID in one of the notations that validCID lists. It does not
// check what the bytes mean.
func decodeCID(text string) ([]byte, bool) {
	if len(text) < 8 || len(text) > maxCIDLength {
		return nil, false
	}
	var raw []byte
	var err error
	switch {
	case isV0(text):
		raw, err = base58.Decode(text)
	case text[0] == 'b', text[0] == 'B':
		raw, err = base32Lower.DecodeString(strings.ToLower(text[1:]))
	case text[0] == 'z':
		raw, err = base58.Decode(text[1:])
	case text[0] == 'f', text[0] == 'F':
		raw, err = hex.DecodeString(strings.ToLower(text[1:]))
	default:
		return nil, false
	}
	return raw, err == nil
}

// verify compares the body with the URI's content identifier, if there is one that can be checked.
// A CID of codec raw is the hash of the body: another body is an error. A CID of codec dag-pb is
// the hash of a tree of chunks, and the uploader chose how the body was cut into them. verify tries
// the usual ways; if none gives the hash, the body stays unverified, and that is no error.
func (t *target) verify(response *Response) *Error {
	id, ok := parseCID(t.whole)
	if !ok {
		return nil
	}
	switch id.codec {
	case codecRaw:
		if sha256.Sum256(response.Body) != id.digest {
			return failure(ClassWrongContent, "the body is not what the content identifier names")
		}
		response.Verified = true
	case codecDagPB:
		response.Verified = isFile(response.Body, id.digest)
	}
	return nil
}

// chunkSizes are the chunks, in bytes, into which tools usually cut a file: those of the IPFS
// profiles unixfs-v0-2015 and unixfs-v1-2025 (https://specs.ipfs.tech/ipips/ipip-0499).
var chunkSizes = []int{256 << 10, 1 << 20}

// maxLinks is how many links one node has at most in trees of 256 KiB chunks (go-ipfs-unixfs,
// DefaultLinksPerBlock). A file with more chunks needs a second layer, which is not checked.
const maxLinks = 174

// isFile reports whether digest is the hash of the UnixFS file that holds body, cut in one of the
// usual ways. https://github.com/ipfs/specs/blob/main/UNIXFS.md
func isFile(body []byte, digest [sha256.Size]byte) bool {
	if sha256.Sum256(fileNode(body, nil)) == digest {
		return true
	}
	for _, size := range chunkSizes {
		if len(body) <= size {
			continue // a single leaf: checked above, or the CID's codec is raw
		}
		if (len(body)+size-1)/size > maxLinks {
			continue
		}
		for _, raw := range []bool{false, true} {
			if sha256.Sum256(treeNode(body, size, raw)) == digest {
				return true
			}
		}
	}
	return false
}

type link struct {
	cid         []byte
	size, total uint64
}

// treeNode returns the root node of a file that is cut into chunks, with one layer of leaves. A
// leaf is either the raw chunk, linked by a CID of version 1, or a UnixFS node, linked by one of
// version 0: these are the defaults of the tools.
func treeNode(body []byte, chunk int, raw bool) []byte {
	var links []link
	for start := 0; start < len(body); start += chunk {
		part := body[start:min(start+chunk, len(body))]
		l := link{size: uint64(len(part)), total: uint64(len(part))}
		if raw {
			sum := sha256.Sum256(part)
			l.cid = append([]byte{1, codecRaw, hashSHA256, sha256.Size}, sum[:]...)
		} else {
			node := fileNode(part, nil)
			sum := sha256.Sum256(node)
			l.total = uint64(len(node))
			l.cid = append([]byte{hashSHA256, sha256.Size}, sum[:]...)
		}
		links = append(links, l)
	}
	return fileNode(nil, links)
}

// fileNode returns the dag-pb node of a UnixFS file, with data or with links to its chunks. The
// links come before the data, as the canonical form of dag-pb wants.
func fileNode(data []byte, links []link) []byte {
	var unixfs []byte
	unixfs = appendVarintField(unixfs, 1, 2) // Type: File
	total := uint64(len(data))
	if links == nil && len(data) > 0 {
		unixfs = appendBytesField(unixfs, 2, data)
	}
	for _, l := range links {
		total += l.size
	}
	unixfs = appendVarintField(unixfs, 3, total)
	for _, l := range links {
		unixfs = appendVarintField(unixfs, 4, l.size)
	}
	var node bytes.Buffer
	for _, l := range links {
		var entry []byte
		entry = appendBytesField(entry, 1, l.cid)
		entry = appendBytesField(entry, 2, nil) // the name: empty, but the field must be there
		entry = appendVarintField(entry, 3, l.total)
		node.Write(appendBytesField(nil, 2, entry))
	}
	node.Write(appendBytesField(nil, 1, unixfs))
	return node.Bytes()
}

func appendVarintField(dst []byte, field int, value uint64) []byte {
	return binary.AppendUvarint(append(dst, byte(field<<3)), value)
}

func appendBytesField(dst []byte, field int, value []byte) []byte {
	dst = binary.AppendUvarint(append(dst, byte(field<<3|2)), uint64(len(value)))
	return append(dst, value...)
}
