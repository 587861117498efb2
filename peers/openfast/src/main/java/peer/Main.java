package peer;

import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.openfast.Context;
import org.openfast.Message;
import org.openfast.codec.FastDecoder;
import org.openfast.template.MessageTemplate;
import org.openfast.template.loader.XMLMessageTemplateLoader;

/** Decodes a capture with OpenFAST, over and over, and prints the least time a message. */
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
        boolean byPacket = arguments[3].equals("packet");
        long nanosMax = (long) (Double.parseDouble(arguments[4]) * 1e9);

        long start = System.nanoTime();
        long least = Long.MAX_VALUE;
        long messages = 0;
        while (messages == 0 || System.nanoTime() - start < nanosMax) {
            long pass = System.nanoTime();
            messages = decode(templates, packets, byPacket);
            least = Math.min(least, System.nanoTime() - pass);
        }
        double nanos = (double) least / Math.max(1, messages);
        System.out.printf("{\"messages\": %d, \"ns_per_message\": %.2f}%n", messages, nanos);
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

    private static long decode(MessageTemplate[] templates, List<byte[]> packets, boolean byPacket) {
        Context context = new Context();
        for (MessageTemplate template : templates) {
            context.registerTemplate(Integer.parseInt(template.getId()), template);
        }
        long messages = 0;
        for (byte[] packet : packets) {
            if (byPacket) {
                context.reset();
            }
            ByteArrayInputStream input = new ByteArrayInputStream(packet);
            FastDecoder decoder = new FastDecoder(context, input);
            while (input.available() > 0) {
                Message message = decoder.readMessage();
                if (message == null) {
                    throw new IllegalStateException("a packet ends inside a message");
                }
                messages += message.getFieldCount() > 0 ? 1 : 0;
            }
        }
        return messages;
    }

    private Main() {}
}
