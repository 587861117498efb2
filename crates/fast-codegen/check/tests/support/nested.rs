/// Template sets whose messages nest as deep as the sender chooses, by name.
const NESTED: [(&str, &str); 2] = [
    (
        "nested references",
        "<templates><template name='Node' id='1'><sequence name='s'><templateRef/></sequence></template>\
         <template name='Leaf' id='2'><uInt32 name='a'/><string name='b'/></template>\
         <template name='Wide3' id='3'><templateRef name='Wide'/></template>\
         <template name='Wide4' id='4'><templateRef name='Wide'/></template>\
         <template name='Wide5' id='5'><templateRef name='Wide'/></template>\
         <template name='Wide6' id='6'><templateRef name='Wide'/></template>\
         <template name='Wide7' id='7'><templateRef name='Wide'/></template>\
         <template name='Wide8' id='8'><templateRef name='Wide'/></template>\
         <template name='Wide9' id='9'><templateRef name='Wide'/></template>\
         <template name='Wide10' id='10'><templateRef name='Wide'/></template>\
         <template name='Wide'><uInt64 name='a'/><uInt64 name='b'/><uInt64 name='c'/><uInt64 name='d'/>\
         <uInt64 name='e'/><uInt64 name='f'/><uInt64 name='g'/><uInt64 name='h'/></template></templates>",
    ),
    (
        "nested sequences",
        "<templates><template name='T' id='1'><sequence name='outer'><sequence name='inner'>\
         <uInt32 name='a'/><uInt64 name='b'/><uInt64 name='c'/><string name='d'/>\
         </sequence></sequence></template></templates>",
    ),
];
