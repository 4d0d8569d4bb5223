package kafka

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mintlake/mintlake/internal/recordbatch"
)

// batchHeaderBytes is the length of a record batch (magic 2) before its records, see
// https://kafka.apache.org/documentation/#recordbatch. The other constants are positions in that
// header.
const (
	batchHeaderBytes = 61
	batchMagicAt     = 16
	batchCodecAt     = 22 // the low byte of the attributes; its low three bits are the codec
	batchCountAt     = 57
)

// checkBatch returns an error unless every reader can decode the batch in bounded memory: it is
// within the limits of recordbatch, and has as many whole records as its header says. Apache Kafka
// checks all of this but the size. kfake checks nothing, and kafka-go allocates as many records and
// headers as a batch claims to have. checkBatch lets bytes pass that are no batch of version 2,
// because the broker refuses them.
func checkBatch(batch []byte) error {
	if len(batch) < batchHeaderBytes || batch[batchMagicAt] != 2 {
		return nil
	}
	buffer := recordbatch.TakeBuffer()
	defer recordbatch.GiveBuffer(buffer)
	records, err := recordbatch.Decompress(batch[batchCodecAt]&7, batch[batchHeaderBytes:], buffer)
	if err != nil {
		return err
	}
	return recordbatch.Count(records, int32(binary.BigEndian.Uint32(batch[batchCountAt:])))
}

// checkProduce checks each batch of a request. If one is bad, it returns the reason, and an answer
// that refuses all batches of the request.
func checkProduce(request *kmsg.ProduceRequest) (kmsg.Response, error) {
	var reason error
	for i := range request.Topics {
		for j := range request.Topics[i].Partitions {
			if err := checkBatch(request.Topics[i].Partitions[j].Records); err != nil {
				reason = err
			}
		}
	}
	if reason == nil {
		return nil, nil // nothing to refuse
	}
	response, _ := request.ResponseKind().(*kmsg.ProduceResponse)
	for i := range request.Topics {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = request.Topics[i].Topic, request.Topics[i].TopicID
		for j := range request.Topics[i].Partitions {
			partition := kmsg.NewProduceResponseTopicPartition()
			partition.Partition = request.Topics[i].Partitions[j].Partition
			partition.ErrorCode = kerr.InvalidRecord.Code
			partition.ErrorMessage = kmsg.StringPtr(reason.Error())
			partition.BaseOffset = -1
			topic.Partitions = append(topic.Partitions, partition)
		}
		response.Topics = append(response.Topics, topic)
	}
	return response, reason
}
