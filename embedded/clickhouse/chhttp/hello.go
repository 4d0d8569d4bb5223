package chhttp

import (
	"encoding/binary"

	chproto "github.com/ClickHouse/ch-go/proto"
)

// helloQuery is the first query of clickhouse-go. libchdb writes the Native format of protocol
// revision 0 only, whatever revision a client announces. So the answer says revision 0, and the
// client reads all later results in that form. It reads this one answer in the form of the revision
// that it announced, so hello writes it by hand.
const helloQuery = "SELECT displayName(), version(), revision(), timezone()"

// displayName is the server's name that clients see.
const displayName = "mintlake-embedded"

// Protocol revisions from which on a Native block has a further field, from ClickHouse's
// ProtocolDefines.h.
const (
	revisionBlockInfo           = 51903
	revisionCustomSerialization = 54454
)

// hello returns the block of one row that answers helloQuery, in the form of this revision.
func hello(revision int, version, timezone string) []byte {
	var b chproto.Buffer
	if revision >= revisionBlockInfo {
		b.Buf = append(b.Buf, 1, 0, 2) // field 1: is_overflows = false; field 2: bucket_num = -1
		b.Buf = binary.LittleEndian.AppendUint32(b.Buf, 0xffffffff)
		b.Buf = append(b.Buf, 0)
	}
	b.PutUVarInt(4) // columns
	b.PutUVarInt(1) // rows
	column := func(name, typ string) {
		b.PutString(name)
		b.PutString(typ)
		if revision >= revisionCustomSerialization {
			b.PutBool(false)
		}
	}
	column("displayName()", "String")
	b.PutString(displayName)
	column("version()", "String")
	b.PutString(version)
	column("revision()", "UInt32")
	b.PutUInt32(0)
	column("timezone()", "String")
	b.PutString(timezone)
	return b.Buf
}
