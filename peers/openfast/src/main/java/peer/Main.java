package peer;

import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.openfast.Context;
import org.openfast.Message;
import org.openfast.codec.FastDecoder;
import org.openfast.template.MessageTemplate;
import org.openfast.template.loader.XMLMessageTemplateLoader;

/** Decodes a capture repeatedly with OpenFAST. Prints the minimum time per message and a digest of all values. */
public final class Main {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 5) {
            throw new IllegalArgumentException("expected: TEMPLATES CAPTURE PREAMBLE RESET SECONDS");
        }
        MessageTemplate[] templates;
        XMLMessageTemplateLoader loader = new XMLMessageTemplateLoader();
        loader.setLoadTemplateIdFromAuxId(true);
        try (InputStream input = new FileInputStream(arguments[0])) {
            templates = loader.load(input);
        }
        List<byte[]> packets = packets(arguments[1], Integer.parseInt(arguments[2]));
        String reset = arguments[3];
        long nanosMax = (long) (Double.parseDouble(arguments[4]) * 1e9);

        Digest digest = new Digest();
        decode(templates, packets, reset, digest::message);

        long start = System.nanoTime();
        long least = Long.MAX_VALUE;
        long[] messages = {0};
        while (messages[0] == 0 || System.nanoTime() - start < nanosMax) {
            messages[0] = 0;
            long pass = System.nanoTime();
            decode(templates, packets, reset, message -> messages[0] += message.getFieldCount() > 0 ? 1 : 0);
            least = Math.min(least, System.nanoTime() - pass);
        }
        double nanos = (double) least / Math.max(1, messages[0]);
        System.out.printf(
            "{\"messages\": %d, \"ns_per_message\": %.2f, \"digest\": \"%016x\"}%n", messages[0], nanos, digest.state);
    }

    private static List<byte[]> packets(String capture, int preamble) throws Exception {
        ByteBuffer rest = ByteBuffer.wrap(Files.readAllBytes(Paths.get(capture)));
        List<byte[]> packets = new ArrayList<>();
        while (rest.remaining() >= 4) {
            byte[] packet = new byte[rest.getInt() - preamble];
            rest.position(rest.position() + preamble);
            rest.get(packet);
            packets.add(packet);
        }
        return packets;
    }

    private static void decode(
            MessageTemplate[] templates, List<byte[]> packets, String reset, Consumer<Message> each) {
        Context context = new Context();
        for (MessageTemplate template : templates) {
            context.registerTemplate(Integer.parseInt(template.getId()), template);
        }
        for (byte[] packet : packets) {
            if (reset.equals("packet")) {
                context.reset();
            }
            ByteArrayInputStream input = new ByteArrayInputStream(packet);
            FastDecoder decoder = new FastDecoder(context, input);
            while (input.available() > 0) {
                // OpenFAST ignores the attribute reset, which the messages of these feeds have. The digest differs if one of
                // them lacks it.
                if (reset.equals("template")) {
                    context.reset();
                }
                Message message = decoder.readMessage();
                if (message == null) {
                    throw new IllegalStateException("a packet ends inside a message");
                }
                each.accept(message);
            }
        }
    }

    private Main() {}
}
