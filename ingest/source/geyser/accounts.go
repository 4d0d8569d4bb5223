package geyser

import (
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/schemas"
)

// What tells an account's kind. Only a mint without extensions has mintLength bytes. A larger
// account of Token-2022 has its type at typeOffset: mints are padded up to the length of a token
// account, 165 bytes, and the type follows. An account of Metaplex begins with its type.
const (
	mintLength   = 82
	typeOffset   = 165
	typeMint     = 1
	typeMetadata = 4
)

// accountFilters returns the filters that select mints and Metaplex metadata as transactions write
// them. All conditions of a filter must hold. The filter of blocks cannot select these accounts,
// because its account_include names account addresses and not owners, see
// docs/decisions/0007-account-updates.md.
func accountFilters() map[string]*pb.SubscribeRequestFilterAccounts {
	written := true
	filter := func(condition *pb.SubscribeRequestFilterAccountsFilter, owners ...string) *pb.SubscribeRequestFilterAccounts {
		return &pb.SubscribeRequestFilterAccounts{
			Owner: owners, Filters: []*pb.SubscribeRequestFilterAccountsFilter{condition}, NonemptyTxnSignature: &written,
		}
	}
	length := &pb.SubscribeRequestFilterAccountsFilter{Filter: &pb.SubscribeRequestFilterAccountsFilter_Datasize{Datasize: mintLength}}
	byteAt := func(offset uint64, value byte) *pb.SubscribeRequestFilterAccountsFilter {
		return &pb.SubscribeRequestFilterAccountsFilter{Filter: &pb.SubscribeRequestFilterAccountsFilter_Memcmp{
			Memcmp: &pb.SubscribeRequestFilterAccountsFilterMemcmp{
				Offset: offset, Data: &pb.SubscribeRequestFilterAccountsFilterMemcmp_Bytes{Bytes: []byte{value}},
			},
		}}
	}
	return map[string]*pb.SubscribeRequestFilterAccounts{
		"mintlake_mints":          filter(length, schemas.ProgramToken, schemas.ProgramToken2022),
		"mintlake_extended_mints": filter(byteAt(typeOffset, typeMint), schemas.ProgramToken2022),
		"mintlake_metadata":       filter(byteAt(0, typeMetadata), schemas.ProgramMetaplex),
	}
}

// accountsAgain is for how long a server that refused account updates is not asked for them again.
const accountsAgain = time.Hour

// accountUpdates is what is known of whether the server gives account updates. Servers refuse
// subscriptions for many reasons, and with many codes. Account updates were the reason only if the
// same subscription works without them.
type accountUpdates struct {
	// asked means that this session's subscription includes accounts.
	asked bool
	// suspect is a refusal whose reason may have been the account updates. The next session then
	// goes without them.
	suspect *ended
	// live means that this session asked for no replay. suspectLive means the same of the session
	// that ended with suspect.
	live, suspectLive bool
	// until is the time from which on account updates are asked for again.
	until time.Time
}

// asksAccounts reports whether the next subscription includes account updates.
func (f *follower) asksAccounts(now time.Time) bool {
	return !f.cfg.NoAccountUpdates && f.suspect == nil && !now.Before(f.until)
}

// suspects reports whether the session ended as if the server refused account updates, and notes
// that as suspect. A session that fails without account updates too clears the suspicion.
func (f *follower) suspects(end *ended) bool {
	if f.received > 0 || !f.asked {
		if f.received == 0 {
			f.suspect = nil // a subscription without account updates fails too
		}
		return false
	}
	if end.reason == endClosed {
		return false
	}
	switch status.Code(end.err) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.Unimplemented, codes.PermissionDenied, codes.ResourceExhausted,
		codes.Internal, codes.Unknown, codes.NotFound:
		f.suspect, f.suspectLive = end, f.live
		return true
	default: // the server is away, or refuses the token
		return false
	}
}

// answered handles a session's first message, which shows that the subscription works. If there is
// a suspect, this session asked for no account updates, so they were the reason of the refusal.
func (f *follower) answered(now time.Time) {
	if f.suspect == nil {
		f.metrics.AccountUpdates(f.asked)
		return
	}
	f.log.Warn("the provider refuses account updates; mint state comes from instructions and reads alone", "err", f.suspect.err)
	f.metrics.AccountUpdatesRefused()
	f.suspect, f.until = nil, now.Add(accountsAgain)
}
