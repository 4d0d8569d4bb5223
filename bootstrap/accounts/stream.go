package accounts

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// maxElementBytes bounds one element of an answer. The largest account asked for (extendedLength in
// base64) takes less.
const maxElementBytes = 1 << 20

var (
	// errMalformed is an answer that does not fit the request, or was cut off.
	errMalformed = errors.New("malformed answer")
	// errNoContext is an answer without a slot before its accounts: without one, a fact has no
	// position.
	errNoContext = errors.New("the answer does not say its slot before its accounts: the server ignores withContext")
)

// account is one element of an answer. Its data is valid until the next element is read.
type account struct {
	pubkey pubkey.Key
	owner  pubkey.Key
	data   []byte
}

// page is what an answer says besides its accounts, and how many accounts it had.
type page struct {
	slot     uint64
	accounts int64
	cursor   string // empty: the last page, or not the paged form
}

// decoder reads an answer of getProgramAccounts, or of its paged form, in one pass. It takes the
// memory of one account. It knows result: {context, value: [...]} and result: {context, value:
// {accounts: [...], paginationKey}}.
type decoder struct {
	json  *json.Decoder
	input *boundedReader
	each  func(slot uint64, a *account) error

	page    page
	context bool // the slot was read
	listed  bool // the accounts were read
	element wireElement
	buffer  []byte
}

type wireElement struct {
	Pubkey  string `json:"pubkey"`
	Account struct {
		Owner string   `json:"owner"`
		Data  []string `json:"data"`
	} `json:"account"`
}

// decodeAnswer calls each for every account of the answer. It ends with the first error of each,
// which it returns unchanged. A *solana.RPCError is the server's own. All other errors wrap
// errMalformed, errNoContext or an error of input.
func decodeAnswer(input io.Reader, each func(slot uint64, a *account) error) (page, error) {
	d := &decoder{input: &boundedReader{input: input, left: maxElementBytes}, each: each}
	d.json = json.NewDecoder(d.input)
	err := d.answer()
	if err == nil && !d.listed {
		err = fmt.Errorf("%w: neither accounts nor error", errMalformed)
	}
	return d.page, err
}

// answer reads the outermost object to its end: an answer that was cut off must not pass for a
// short one.
func (d *decoder) answer() error {
	return d.object(func(key string) error {
		switch key {
		case "result":
			return d.result()
		case "error":
			return d.rpcError()
		default:
			return d.skip()
		}
	})
}

func (d *decoder) result() error {
	token, err := d.token()
	if err != nil {
		return err
	}
	if token == json.Delim('[') { // without a context, the result is the list of the accounts
		return errNoContext
	}
	if token != json.Delim('{') {
		return fmt.Errorf("%w: result is no object", errMalformed)
	}
	return d.members(func(key string) error {
		switch key {
		case "accounts":
			return errNoContext // the paged form without context
		case "context":
			return d.slot()
		case "value":
			return d.value()
		default:
			return d.skip()
		}
	})
}

func (d *decoder) slot() error {
	var context struct {
		Slot *uint64 `json:"slot"`
	}
	if err := d.decode(&context); err != nil {
		return err
	}
	if context.Slot == nil {
		return errNoContext
	}
	d.page.slot, d.context = *context.Slot, true
	return nil
}

// value reads the accounts or, in the paged form, an object around them.
func (d *decoder) value() error {
	token, err := d.token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		return d.accounts()
	case json.Delim('{'):
		return d.members(d.pagedMember)
	default:
		return fmt.Errorf("%w: value is neither a list nor an object", errMalformed)
	}
}

func (d *decoder) pagedMember(key string) error {
	switch key {
	case "accounts":
		if err := d.delim('['); err != nil {
			return err
		}
		return d.accounts()
	case "paginationKey":
		var cursor *string
		if err := d.decode(&cursor); err != nil {
			return err
		}
		if cursor != nil {
			d.page.cursor = *cursor
		}
		return nil
	default:
		return d.skip()
	}
}

// accounts reads the elements after an opening bracket, and the closing bracket.
func (d *decoder) accounts() error {
	if !d.context {
		return errNoContext
	}
	for d.json.More() {
		d.element.Pubkey, d.element.Account.Owner, d.element.Account.Data = "", "", d.element.Account.Data[:0]
		if err := d.decode(&d.element); err != nil {
			return err
		}
		a, err := d.account()
		if err != nil {
			return err
		}
		d.page.accounts++
		if err := d.each(d.page.slot, &a); err != nil {
			return err
		}
	}
	d.listed = true
	return d.delim(']')
}

func (d *decoder) account() (account, error) {
	var a account
	var err error
	if a.pubkey, err = pubkey.Parse(d.element.Pubkey); err != nil {
		return a, fmt.Errorf("%w: pubkey: %w", errMalformed, err)
	}
	if a.owner, err = pubkey.Parse(d.element.Account.Owner); err != nil {
		return a, fmt.Errorf("%w: owner: %w", errMalformed, err)
	}
	data := d.element.Account.Data
	if len(data) != 2 || data[1] != "base64" {
		return a, fmt.Errorf(`%w: data is not [base64, "base64"]`, errMalformed)
	}
	if d.buffer, err = base64.StdEncoding.AppendDecode(d.buffer[:0], []byte(data[0])); err != nil {
		return a, fmt.Errorf("%w: data: %w", errMalformed, err)
	}
	a.data = d.buffer
	return a, nil
}

// maxMessage is how much of a server's error message is kept.
const maxMessage = 300

func (d *decoder) rpcError() error {
	var e *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if err := d.decode(&e); err != nil || e == nil {
		return err
	}
	return &solana.RPCError{Code: e.Code, Message: e.Message[:min(len(e.Message), maxMessage)]}
}

// object reads an object, calling member with each key; member must read the value.
func (d *decoder) object(member func(key string) error) error {
	if err := d.delim('{'); err != nil {
		return err
	}
	return d.members(member)
}

// members reads the rest of an object whose opening brace was read.
func (d *decoder) members(member func(key string) error) error {
	for d.json.More() {
		token, err := d.token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("%w: key is no string", errMalformed)
		}
		if err := member(key); err != nil {
			return err
		}
	}
	return d.delim('}')
}

func (d *decoder) delim(want json.Delim) error {
	token, err := d.token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("%w: %v instead of %v", errMalformed, token, want)
	}
	return nil
}

func (d *decoder) token() (json.Token, error) {
	d.input.left = maxElementBytes
	token, err := d.json.Token()
	return token, d.explain(err)
}

func (d *decoder) decode(into any) error {
	d.input.left = maxElementBytes
	return d.explain(d.json.Decode(into))
}

func (d *decoder) skip() error {
	var ignored json.RawMessage
	return d.decode(&ignored)
}

// explain returns an error of the connection unchanged, and wraps errMalformed around an error of
// the text that was read.
func (d *decoder) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case d.input.err != nil && !errors.Is(d.input.err, io.EOF):
		return d.input.err
	default:
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
}

// boundedReader fails when more than left bytes are read before left is set again. It remembers the
// input's error.
type boundedReader struct {
	input io.Reader
	left  int
	err   error
}

func (r *boundedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("an element of more than %d bytes", maxElementBytes)
	}
	n, err := r.input.Read(p[:min(len(p), r.left)])
	r.left -= n
	if err != nil {
		r.err = err
	}
	return n, err
}
