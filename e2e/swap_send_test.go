package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
)

// swapSent is what POST /api/v2/send answers.
type swapSent struct {
	Signature string
	Status    string
	Fee       uint64
	In        uint64   `json:"amount_in,string"`
	Out       uint64   `json:"amount_out,string"`
	Slippage  *float64 `json:"slippage_realised_bps"`
}

// send has the swap API send a signed transaction, and returns what it tells when that is in a
// block. A transaction that the node refuses, since others moved the price, is as one that expired.
func (s *swapper) send(q *swapQuote, wire []byte) (*swapSent, error) {
	body, err := json.Marshal(map[string]any{"quote": q.raw, "transaction": base64.StdEncoding.EncodeToString(wire)})
	if err != nil {
		return nil, err
	}
	answer, code, err := s.ask(http.MethodPost, s.up.addresses["swap"]+"/api/v2/send", body)
	switch {
	case err != nil:
		return nil, err
	case code == http.StatusUnprocessableEntity:
		return nil, fmt.Errorf("%w, or refused: %s", errExpired, answer)
	case code != http.StatusOK:
		return nil, fmt.Errorf("send: %d %s", code, answer)
	}
	var sent swapSent
	if err := json.Unmarshal(answer, &sent); err != nil {
		return nil, err
	}
	switch sent.Status {
	case "landed", "failed":
		return &sent, nil
	case "expired":
		return nil, errExpired
	}
	return nil, fmt.Errorf("what came of %s is not known: %s", sent.Signature, answer)
}

// holds returns an error if what was told of a swap is not what moved.
func (told *swapSent) holds(r *swapResult, paid, got int64) error {
	switch {
	case told.Fee != r.Meta.Fee:
		return fmt.Errorf("%s: a fee of %d was told, %d was paid", told.Signature, told.Fee, r.Meta.Fee)
	case (told.Status == "landed") != (r.Meta.Err == nil) || (told.Slippage != nil) != (r.Meta.Err == nil):
		return fmt.Errorf("%s: %s was told, the chain's error is %v", told.Signature, told.Status, r.Meta.Err)
	case r.Meta.Err == nil && (told.In != uint64(paid) || told.Out != uint64(got)):
		return fmt.Errorf("%s: %d for %d was told, and %d for %d moved", told.Signature, told.Out, told.In, got, paid)
	}
	return nil
}
