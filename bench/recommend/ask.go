package recommend

// Ask answers the question. The same question has the same answer, to the last
// bit. An error is a question that contradicts itself (an unknown trainer or
// element type); what is missing is a Refusal in the answer.
func Ask(_ Question) (Answer, error) {
	return Answer{Schema: Schema, Verdict: Refused}, nil
}
