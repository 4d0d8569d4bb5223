// Command letter writes a record that is no message to chain.swaps.v1, so that the projector makes
// a dead letter of it.
//
//	go run ./tools/dashboard/letter HOST:PORT
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: letter HOST:PORT")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "letter:", err)
		os.Exit(1)
	}
}

func write(broker string) error {
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{broker}}, kafka.Deps{})
	if err != nil {
		return err
	}
	defer producer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return producer.Produce(ctx, kafka.Record{Topic: schemas.TopicSwaps, Key: []byte("test"), Value: []byte("no message")})
}
