package peer;

import java.nio.charset.StandardCharsets;
import org.openfast.ByteVectorValue;
import org.openfast.DecimalValue;
import org.openfast.FieldValue;
import org.openfast.GroupValue;
import org.openfast.Message;
import org.openfast.NumericValue;
import org.openfast.ScalarValue;
import org.openfast.SequenceValue;
import org.openfast.StringValue;

/** FNV-1a over 64-bit words: of each message the template id, then each value that is present, in template order. */
final class Digest {
    long state = 0xcbf29ce484222325L;

    void message(Message message) {
        word(Long.parseLong(message.getTemplate().getId()));
        // Value 0 of a message is the template id.
        group(message, 1);
    }

    private void word(long word) {
        state = (state ^ word) * 0x100000001b3L;
    }

    private void bytes(byte[] bytes) {
        word(bytes.length);
        for (byte each : bytes) {
            word(each & 0xff);
        }
    }

    private void group(GroupValue group, int first) {
        for (int index = first; index < group.getFieldCount(); index++) {
            FieldValue value = group.getValue(index);
            if (value == null || value == ScalarValue.NULL || value == ScalarValue.UNDEFINED) {
                continue;
            }
            value(value);
        }
    }

    private void value(FieldValue value) {
        if (value instanceof DecimalValue decimal) {
            word(decimal.mantissa);
            word(decimal.exponent);
        } else if (value instanceof NumericValue number) {
            word(number.toLong());
        } else if (value instanceof StringValue text) {
            bytes(text.value.getBytes(StandardCharsets.UTF_8));
        } else if (value instanceof ByteVectorValue vector) {
            bytes(vector.value);
        } else if (value instanceof SequenceValue sequence) {
            word(sequence.getLength());
            for (GroupValue entry : sequence.getValues()) {
                group(entry, 0);
            }
        } else if (value instanceof GroupValue group) {
            group(group, 0);
        } else {
            throw new IllegalStateException("a value of the class " + value.getClass().getName());
        }
    }
}
