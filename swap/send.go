package swap

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gagliardetto/solana-go"
	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/venue"
)

// memberTransaction is a member of the body of POST /api/v2/send. The other members are named like
// the parameters of a quote.
const memberTransaction = "transaction"

const errSendBody = "the body must be a JSON object with transaction (base64, signed) and quote (the answer that has the transaction as txn)"

// sendOrder is a swap that a client wants to have sent: a signed transaction, and the quote that it
// came with.
type sendOrder struct {
	wire      []byte
	signature string
	// user is who swaps, and pays says that he also pays the fee.
	user *venue.Key
	pays bool
	// destination and native are the accounts that get what is bought in place of the user's, if
	// the request for the quote named one.
	destination, native *venue.Key
	quote               quotedSwap
}

// quotedSwap is what a quote promised.
type quotedSwap struct {
	SourceMint           string `json:"src_mint"`
	TargetMint           string `json:"dst_mint"`
	AmountIn             uint64 `json:"amount_in,string"`
	MaxAmountIn          uint64 `json:"max_amount_in,string"`
	AmountOut            uint64 `json:"amount_out,string"`
	MinAmountOut         uint64 `json:"min_amount_out,string"`
	Txn                  string `json:"txn"`
	LastValidBlockHeight uint64 `json:"last_valid_block_height"`
	Route                []struct {
		Venue string `json:"venue"`
	} `json:"route"`
}

// parseSend reads and checks the body of POST /api/v2/send. Its errors are 400s; nothing is read
// from the chain.
func (s *Server) parseSend(body []byte) (*sendOrder, error) {
	o := &sendOrder{}
	var quote, transaction json.RawMessage
	err := eachMember(body, func(name string, value json.RawMessage) (err error) {
		key := func() *venue.Key {
			one, failed := parseKey(name, textIn(value))
			err = failed
			return &one
		}
		switch {
		case string(value) == "null":
		case name == fieldQuote:
			quote = value
		case name == memberTransaction:
			transaction = value
		case name == fieldUser, name == aliases[fieldUser]:
			o.user = key()
		case name == fieldDestination, name == aliases[fieldDestination]:
			o.destination = key()
		case name == fieldNative, name == aliases[fieldNative]:
			o.native = key()
		default:
			err = unknownName(name, []string{fieldQuote, memberTransaction, fieldUser, fieldDestination, fieldNative})
		}
		return err
	})
	switch {
	case err != nil && err.Error() == errBody:
		return nil, badRequest(errSendBody)
	case err != nil:
		return nil, err
	case transaction == nil:
		return nil, missing(memberTransaction, "must be the signed transaction in base64")
	case quote == nil || quote[0] != '{':
		return nil, missing(fieldQuote, "must be the answer that has the transaction as txn")
	}
	if err := answeredBy(fieldQuote, quote, reflect.TypeFor[Response]()); err != nil {
		return nil, err
	}
	if json.Unmarshal(quote, &o.quote) != nil || o.quote.Txn == "" || o.quote.LastValidBlockHeight == 0 || len(o.quote.Route) == 0 || len(o.quote.Route) > maxSteps {
		return nil, badRequest("quote must be as this API answered it, with its transaction (txn), its last_valid_block_height and its route")
	}
	for _, leg := range o.quote.Route {
		if !s.covered[leg.Venue] {
			return nil, invalid(fieldQuote+".route.venue", leg.Venue, "must be a venue that is quoted")
		}
	}
	return o, o.checkSigned(textIn(transaction))
}

// checkSigned checks that text is the transaction of the quote in base64, signed by all who must
// sign. It sets wire, signature and pays, and user if that is nil.
func (o *sendOrder) checkSigned(text string) error {
	var sent, quoted txwire.Transaction
	wire, err := base64.StdEncoding.DecodeString(text)
	if err != nil || sent.Parse(wire) != nil || sent.CheckLimits(len(wire)) != nil {
		return invalid(memberTransaction, text, "must be a transaction in base64")
	}
	theirs, err := base64.StdEncoding.DecodeString(o.quote.Txn)
	if err != nil || quoted.Parse(theirs) != nil {
		return invalid(fieldQuote+".txn", o.quote.Txn, "must be a transaction in base64")
	}
	message, err := sent.AppendMessage(nil)
	other, failed := quoted.AppendMessage(nil)
	if err != nil || failed != nil || !bytes.Equal(message, other) {
		return invalid(memberTransaction, text, "must be txn of the quote, with its signatures: its message is another one")
	}
	for i, signature := range sent.Signatures {
		if !ed25519.Verify(sent.Keys[i], message, signature) {
			return invalid(memberTransaction, text, "must be signed by "+venue.Key(sent.Keys[i]).String()+": that signature is not valid")
		}
	}
	o.wire, o.signature = wire, solana.SignatureFromBytes(sent.Signatures[0]).String()
	signers := sent.Keys[:len(sent.Signatures)]
	if o.user == nil {
		if len(signers) > 1 {
			return missing(fieldUser, "must be the wallet that swaps, as others sign too")
		}
		payer := venue.Key(signers[0])
		o.user = &payer
	}
	if !slices.ContainsFunc(signers, func(key []byte) bool { return bytes.Equal(key, o.user[:]) }) {
		return invalid(fieldUser, o.user.String(), "must be a signer of the transaction")
	}
	o.pays = bytes.Equal(signers[0], o.user[:])
	return nil
}

// postSend is POST /api/v2/send: it sends a signed transaction of a quote, follows it until it is
// confirmed or expired, and answers with what arrived. With Accept: text/event-stream it answers
// with server-sent events.
func (s *Server) postSend(c *fiber.Ctx) error {
	pass, client, err := s.admit(c, "swap")
	if err != nil {
		return err
	}
	if coded := c.Get(fiber.HeaderContentEncoding); framing.Coded(coded) {
		return newError(fiber.StatusUnsupportedMediaType, "content-encoding is %s: a body must be sent as it is", quoted(coded))
	}
	if name, given := firstArg(c); given {
		return badRequest("%s is in the URL: the parameters of POST belong into the body", quoted(name))
	}
	if s.market == nil {
		return noUpstream()
	}
	o, err := s.parseSend(c.Request().Body())
	if err != nil {
		return err
	}
	// Following may take as long as a blockhash is valid, so it counts as an open stream and not as
	// a request in flight.
	if err := s.streams.Take(client); err != nil {
		c.Set(fiber.HeaderRetryAfter, retryStreams)
		return err
	}
	if strings.Contains(c.Get(fiber.HeaderAccept), "text/event-stream") {
		return s.streamSend(c, o, client, pass)
	}
	defer s.streams.Give(client)
	ctx, cancel := context.WithTimeout(c.UserContext(), sendPatience)
	defer cancel()
	result, err := s.sendAndFollow(ctx, o, func(string, any) {})
	if err != nil {
		return err
	}
	return c.JSON(result)
}

// legsLabel returns the label for the number of swaps of a route: 1, 2, 3 or 4+.
func legsLabel(n int) string {
	const most = 4
	if n >= most {
		return strconv.Itoa(most) + "+"
	}
	return strconv.Itoa(n)
}
