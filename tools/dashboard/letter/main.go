// Command letter writes a record that is no message to chain.swaps.v1, so that the projector makes
// a dead letter of it. With texts on standard input, a JSON list, it also writes a dead letter of
// each text: by turns about a record and about an input that was no record.
//
//	go run ./tools/dashboard/letter HOST:PORT < texts.json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: letter HOST:PORT")
		os.Exit(2)
	}
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "letter: read the texts:", err)
		os.Exit(1)
	}
	if err := write(os.Args[1], texts); err != nil {
		fmt.Fprintln(os.Stderr, "letter:", err)
		os.Exit(1)
	}
}

func write(broker string, texts []string) error {
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker}}, kafka.Deps{})
	if err != nil {
		return err
	}
	defer producer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for i, text := range texts {
		letter := deadletter.OfInput(text, text, text)
		if i%2 == 0 {
			letter = deadletter.Of(text, text, &kafka.Record{Topic: schemas.TopicSwaps, Offset: int64(i), Key: []byte(text), Value: []byte(text)})
		}
		if err := producer.Produce(ctx, letter); err != nil {
			return err
		}
	}
	return producer.Produce(ctx, kafka.Record{Topic: schemas.TopicSwaps, Key: []byte("test"), Value: []byte("no message")})
}
